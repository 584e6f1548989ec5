#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Verilator writes one function per instance of a module, because each names its own neighbours (an
# input is replaced by what drives it), numbers its temporaries, and orders statements by what else
# of the model is ready. For 16 cores that is 16 times the C++, the compile time and the instruction
# cache. This script makes functions that differ in nothing else into one that takes the neighbours
# as arguments:
#	dedup.pl DIR PREFIX		rewrites DIR/PREFIX_*__DepSet_*.cpp after verilating
use strict;
use warnings;

my ($dir, $prefix) = @ARGV;
# of a function's text: the shared function that it became, and which neighbour is which of its
# arguments; and of each class and length the shared functions
my (%type, %first, %alike);
my ($shared, $copies, $reordered) = (0, 0, 0);

# The text with temporaries numbered, and neighbours named, by their first place; and these in that
# order.
sub plain {
	my ($text) = @_;
	my (%seen, %ref, @refs);
	my $n = 0;
	$text =~ s/(__V(?:task|func)_\w+?__)(\d+)(?=__)/$1 . ($seen{"$1$2"} \/\/= $n++)/ge;
	$text =~ s/\b(__Vtemp_h[0-9a-f]+__\d+)\b/'__Vtemp_' . ($seen{$1} \/\/= $n++)/ge;
	$text =~ s/\bvlSymsp->(TOP__\w+|TOP\.\w+__KET__\w+)/
		if (!exists $ref{$1}) { $ref{$1} = scalar @refs; push @refs, $1 }
		"near$ref{$1}"/gex;
	return ($text, @refs);
}

# The statements of a function in an order that their text decides, as far as they may be exchanged:
# of two that name the same variable, which one of them writes, the first stays first. So the result
# does the same, and functions that differ in the order of independent statements give one text.
my $name = qr/\b((?:[A-Za-z_]\w*+(?:->|\.))*+[A-Za-z_]\w*+)/;
my $element = qr/(\s*+\[(?:[^\[\]]++|(?-1))*+\])/;

sub sorted {
	my @text = grep { !m{^\s*//} } split /^(?=    [^\s}])/m, $_[0];
	my $end = $text[-1] =~ s/^\}\n\z//m ? "}\n" : '';
	my (@key, @waits, @then, %wrote, %read, @out);
	for my $i (0 .. $#text) {
		my $s = $text[$i];
		my (%r, %w, %after);
		($key[$i] = (plain($s))[0]) =~
			s/\s+|(__V(?:task|func)_\w+?__|__Vtemp_|\bnear)\d+/$1 \/\/ ''/ge;
		$r{$_} = 1 for $s =~ /$name/g;
		$w{$1} = 1 while $s =~ /$name$element*+\s*+[-+*|&^]?=(?!=)/g;
		$w{$1} = 1 while $s =~ /^\s*\w+\/\*[\d:]+\*\/ (\w+);/mg;
		# a function of the runtime may write each of its arguments, or do something else
		%w = (%w, %r) if $s =~ /\bVL_\w*W\w*\(|\+\+|--/;
		%w = (%w, '*' => 1)
			if $s =~ /\bVL_(?:WRITEF|FINISH|STOP|FATAL|PRINTF)|\bvlSymsp->_/;
		for my $v (keys %r, '*') {
			$after{$_} = 1 for @{$wrote{$v} // []};
		}
		for my $v (keys %w) {
			$after{$_} = 1 for @{$read{$v} // []}, $v eq '*' ? 0 .. $i - 1 : ();
		}
		push @{$wrote{$_}}, $i for keys %w;
		push @{$read{$_}}, $i for keys %r;
		$waits[$i] = keys %after;
		push @{$then[$_]}, $i for keys %after;
	}
	my @ready = grep { !$waits[$_] } 0 .. $#text;
	while (@ready) {
		@ready = sort { $key[$a] cmp $key[$b] || $a <=> $b } @ready;
		my $i = shift @ready;
		push @out, $text[$i];
		push @ready, grep { !--$waits[$_] } @{$then[$i] // []};
	}
	return join('', @out, $end);
}

# { text } of a function: { sorted }, behind the neighbours' classes, and their { order } there
sub sorted_of {
	my ($f) = @_;
	if (!$f->{sorted}) {
		my ($text, @order) = plain(sorted($f->{text}));
		$f->{sorted} = join(' ', map({ $type{$_} } @order), $text) =~ s/\s+//gr;
		$f->{order} = \@order;
	}
	return $f->{sorted};
}

# classes of the instances: "    Vx_wse_core  TOP__...;"
open(my $syms, '<', "$dir/${prefix}__Syms.h") or die "$dir/${prefix}__Syms.h: $!\n";
while (<$syms>) {
	$type{$2} = $1 if /^\s+(\w+)\s+(TOP__\w+);/;
}
close($syms);

# signals of the top that belong to one instance: "    SData/*15:0*/ wse_top__DOT__...__row_q;"
open(my $root, '<', "$dir/${prefix}___024root.h") or die "$dir/${prefix}___024root.h: $!\n";
while (<$root>) {
	$type{"TOP.$2"} = $1 if /^\s+([CSIQ]Data)\/\*[\d:]+\*\/ (\w+__KET__\w+);/;
}
close($root);

for my $file (sort glob("$dir/${prefix}_*__DepSet_*.cpp")) {
	open(my $in, '<', $file) or die "$file: $!\n";
	my @lines = <$in>;
	close($in);
	my @out;
	while (@lines) {
		my $l = shift @lines;
		if ($l !~ /^((?:VL_INLINE_OPT |VL_ATTR_COLD )*)void (\w+)\((\w+)\* vlSelf\) \{$/) {
			push @out, $l;
			next;
		}
		my ($attr, $function, $class) = ($1, $2, $3);
		my $text = '';
		while (@lines) {
			my $b = shift @lines;
			$text .= $b;
			last if $b eq "}\n";
		}
		if ($function !~ /__TOP__\w+__\d+$/ || $class =~ /024root$/) {
			push @out, $l, $text;
			next;
		}
		$text =~ s/^\s*VL_DEBUG_IF\(VL_DBG_MSGF\("\+[^\n]*\n//mg;
		my ($plain, @refs) = plain($text);
		if (grep { !exists $type{$_} } @refs) {
			push @out, $l, $text;
			next;
		}
		my $args = join('', map { ", $type{$refs[$_]}& near$_" } 0 .. $#refs);
		# lines break elsewhere when names are longer
		(my $key = "$class$args $plain") =~ s/\s+//g;
		my $new;
		if (!exists $first{$key}) {
			my $this = {text => $text, refs => \@refs, args => $args};
			# sorting takes a second where functions are long
			my $length =
				length($plain =~ s/\s+|__V(?:task|func)_\w+?__\K\d+|\d+\b//gr);
			my $alike = $alike{"$class $length"} //= [];
			# a variable has one name, so not where an instance is its own neighbour
			my $own = grep { $function =~ /__\Q$_\E__\d+$/ } @refs;
			my ($as) = grep { !$own && sorted_of($_) eq sorted_of($this) } @$alike;
			if ($as) {
				my %at = map { $refs[$_] => $_ } 0 .. $#refs;
				my %place = map { $as->{order}[$_] => $_ } 0 .. $#refs;
				$first{$key} = [$as, map { $at{$this->{order}[$place{$_}]} }
							@{$as->{refs}}];
				$reordered++;
			} else {
				$new = $this;
				$new->{name} = "${class}__shared_" . $shared++;
				push @$alike, $new if !$own;
				$first{$key} = [$new, 0 .. $#refs];
			}
		}
		my ($as, @near) = @{$first{$key}};
		my $head = "void $as->{name}($class* vlSelf$as->{args})";
		push @out, $new ? ("$attr$head {\n", $plain) : "$head;\n";
		$copies++;
		push @out, $l, "    auto* const vlSymsp = vlSelf->vlSymsp;\n    (void)vlSymsp;\n    $as->{name}(vlSelf",
			map({ ", vlSymsp->$_" } @refs[@near]), ");\n}\n";
	}
	open(my $o, '>', $file) or die "$file: $!\n";
	print $o @out;
	close($o) or die "$file: $!\n";
}
print "dedup: $copies functions of instances are $shared, $reordered more by another order\n";

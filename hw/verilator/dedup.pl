#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Verilator writes one function per instance of a module, because each names its own neighbours (an
# input is replaced by what drives it) and numbers its temporaries. For 16 cores that is 16 times
# the C++, the compile time and the instruction cache. This script makes functions that differ in
# nothing else into one that takes the neighbours as arguments:
#	dedup.pl DIR PREFIX		rewrites DIR/PREFIX_*__DepSet_*.cpp after verilating
use strict;
use warnings;

my ($dir, $prefix) = @ARGV;
my (%type, %first);
my ($shared, $copies) = (0, 0);

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
		my ($attr, $name, $class) = ($1, $2, $3);
		my $text = '';
		while (@lines) {
			my $b = shift @lines;
			$text .= $b;
			last if $b eq "}\n";
		}
		if ($name !~ /__TOP__\w+__\d+$/ || $class =~ /024root$/) {
			push @out, $l, $text;
			next;
		}
		my (%seen, %ref, @refs, $n);
		$n = 0;
		my $plain = $text;
		$plain =~ s/^\s*VL_DEBUG_IF\(VL_DBG_MSGF\("\+[^\n]*\n//mg;
		$plain =~ s/(__V(?:task|func)_\w+?__)(\d+)(?=__)/$1 . ($seen{"$1$2"} \/\/= $n++)/ge;
		$plain =~ s/\b(__Vtemp_h[0-9a-f]+__\d+)\b/'__Vtemp_' . ($seen{$1} \/\/= $n++)/ge;
		$plain =~ s/\bvlSymsp->(TOP__\w+|TOP\.\w+__KET__\w+)/
			if (!exists $ref{$1}) { $ref{$1} = scalar @refs; push @refs, $1 }
			"near$ref{$1}"/gex;
		if (grep { !exists $type{$_} } @refs) {
			push @out, $l, $text;
			next;
		}
		my $args = join('', map { ", $type{$refs[$_]}& near$_" } 0 .. $#refs);
		# lines break elsewhere when names are longer
		(my $key = "$class$args $plain") =~ s/\s+//g;
		if (!exists $first{$key}) {
			$first{$key} = "${class}__shared_" . scalar(keys %first);
			push @out, "${attr}void $first{$key}($class* vlSelf$args) {\n", $plain;
			$shared++;
		} else {
			push @out, "void $first{$key}($class* vlSelf$args);\n";
		}
		$copies++;
		push @out, $l, "    auto* const vlSymsp = vlSelf->vlSymsp;\n    (void)vlSymsp;\n    $first{$key}(vlSelf",
			map({ ", vlSymsp->$_" } @refs), ");\n}\n";
	}
	open(my $o, '>', $file) or die "$file: $!\n";
	print $o @out;
	close($o) or die "$file: $!\n";
}
print "dedup: $copies functions of instances are $shared\n";

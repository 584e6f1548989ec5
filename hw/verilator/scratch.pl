#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Verilator keeps a module's variables in memory, all in one object, so a compiler has to store each
# one that a clock edge assigns, and to load it again behind most other stores. What the RTL marks
# (* scratch *) has a value in no other cycle than that which assigns it: this script makes it a
# variable of the function that uses it, which can stay in a register.
#	scratch.pl DIR PREFIX POISON CLASS:PATH:FILE...
# after dedup.pl: for the marks of the RTL's FILE, which is inlined into CLASS below PATH (nothing:
# it is the class). With POISON 1 they begin as other than 0: for tests, which see so what is used
# before it is assigned.
use strict;
use warnings;

my ($dir, $prefix, $poison, @files) = @ARGV;

sub slurp {
	open(my $in, '<', $_[0]) or die "$_[0]: $!\n";
	local $/;
	return scalar <$in>;
}

sub spill {
	my ($file, $text) = @_;
	open(my $out, '>', $file) or die "$file: $!\n";
	print $out $text;
	close($out) or die "$file: $!\n";
}

# by class: the names of what is marked, as members of it
my %names;
for (@files) {
	my ($class, $path, $file) = split /:/;
	my $rtl = slurp($file);
	my @marked;
	while ($rtl =~ /\(\* scratch \*\)\s+\w+\s*(?:\[[^\]]+\]\s*)*([^;]+);/g) {
		push @marked, map { /^\s*(\w+)/ ? "__PVT__$path$1" : () } split /,/, $1;
	}
	die "scratch.pl: $file: nothing is marked (* scratch *)\n" unless @marked;
	push @{$names{$class}}, @marked;
}

my $made = 0;
for my $class (sort keys %names) {
	my $any = join '|', @{$names{$class}};
	my $header = "$dir/${prefix}_$class.h";
	# of a variable: its type; and by instance the function that uses it
	my (%type, %user);
	my $text = slurp($header);
	$text =~ s/^[ \t]*(\S[^;\n]*?) ($any);\n/$type{$2} = $1; ''/gme;
	spill($header, $text);

	# the instances for which dedup.pl's functions run
	my (%of, %text);
	my $wrapper = qr/__TOP__(\w+)__\d+\((\w+)\* vlSelf\) \{\n[^}]*?(\2__shared_\d+)\(/;
	for my $file (glob("$dir/${prefix}_${class}__*.cpp")) {
		$text{$file} = slurp($file);
		$of{$3}{$1} = 1 while $text{$file} =~ /$wrapper/g;
	}
	for my $file (sort keys %text) {
		$text = $text{$file};
		# the constructor's zeros
		$text =~ s/^ {4}for \(int (\w+) = .*\{\n *vlSelf->(?:$any)\[\1\] = 0;\n {4}\}\n//mg;
		$text =~ s/^ {4}vlSelf->(?:$any) = (?:0|VL_\w+\(\d+\));\n//mg;
		$text =~ s/^ {4}VL_\w+_RESET_W\(\d+, vlSelf->(?:$any)\);\n//mg;
		$text =~ s{^(\S.*\b(\w+)\(.*\) \{\n)((?s).*?)^\}\n}{
			my ($head, $name, $body) = ($1, $2, $3);
			my %used;
			$used{$1} = 1 while $body =~ /vlSelf->($any)\b/g;
			for my $v (sort keys %used) {
				for my $i (keys %{$of{$name} // {$name => 1}}) {
					die "scratch.pl: $v is used in $user{$v}{$i} and in $name: it" .
						" is not of one always block\n" if $user{$v}{$i};
					$user{$v}{$i} = $name;
				}
				my $t = $type{$v};
				my $init = !$poison ? ''
					: $t =~ /^Vl/ ? " std::memset(&$v, 0xa5, sizeof($v));"
					: " $v = $t(0xa5a5a5a5);";
				$head .= "    $t $v;$init\n";
				$made++;
			}
			$body =~ s/vlSelf->($any)\b/$1/g;
			"$head$body\}\n";
		}gme;
		spill($file, $text);
	}
}
print "scratch: $made variables are local\n";

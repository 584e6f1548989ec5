#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Verilator keeps a module's variables in memory, all in one object, so a compiler has to store each
# one that a clock edge assigns, and to load it again behind most other stores. What the RTL marks
# (* scratch *) has a value in no other cycle than that which assigns it: this script makes it a
# variable of the function that uses it, which can stay in a register.
#	scratch.pl DIR PREFIX POISON CLASS:PATH:FILE...
# after dedup.pl: the marks of the RTL's FILE, which is inlined into CLASS below PATH (nothing: it is
# the class). With POISON they begin as other than 0: for tests, which see so what is used unassigned.
use strict;
use warnings;

my ($dir, $prefix, $poison, @files) = @ARGV;

sub slurp {
	open(my $in, '<', $_[0]) or die "$_[0]: $!\n";
	local $/;
	return scalar <$in>;
}

my (%names, $made);
for (@files) {
	my ($class, $path, $file) = split /:/;
	my $rtl = slurp($file);
	my $n = 0;
	while ($rtl =~ /\(\* scratch \*\)\s+\w+\s*((?:\[[^\]]+\]\s*)*)([^;]+);/g) {
		push @{$names{$class}}, map { "__PVT__" . $path . (/^\s*(\w+)/)[0] } split /,/, $2;
		$n++;
	}
	die "$file: nothing is marked (* scratch *)\n" unless $n;
}

for my $class (sort keys %names) {
	my $any = join '|', @{$names{$class}};
	my ($header) = "$dir/${prefix}_$class.h";
	my (%type, %user);
	my $text = slurp($header);
	$text =~ s/^[ \t]*(\S[^;\n]*?) ($any);\n/$type{$2} = $1; ''/gme;
	open(my $out, '>', $header) or die "$header: $!\n";
	print $out $text;
	close($out) or die "$header: $!\n";

	# the instances for which dedup.pl's functions run
	my (%of, %text);
	for my $file (glob("$dir/${prefix}_${class}__*.cpp")) {
		$text{$file} = slurp($file);
		$of{$3}{$1} = 1
			while $text{$file} =~ /__TOP__(\w+)__\d+\((\w+)\* vlSelf\) \{\n[^}]*?(\2__shared_\d+)\(/g;
	}
	for my $file (sort keys %text) {
		$text = $text{$file};
		# the constructor's zeros
		$text =~ s/^    for \(int (\w+) = 0; [^\n]*\{\n\s*vlSelf->(?:$any)\[\1\] = [^;]*;\n    \}\n//mg;
		$text =~ s/^    vlSelf->(?:$any) = (?:0|VL_\w+\(\d+\));\n//mg;
		$text =~ s/^    VL_\w+_RESET_W\(\d+, vlSelf->(?:$any)\);\n//mg;
		$text =~ s{^(\S[^\n]*\b(\w+)\([^\n]*\) \{\n)(.*?)^\}\n}{
			my ($head, $name, $body) = ($1, $2, $3);
			my %used;
			$used{$1} = 1 while $body =~ /vlSelf->($any)\b/g;
			for my $v (sort keys %used) {
				for my $instance (keys %{$of{$name} // {$name => 1}}) {
					die "scratch.pl: $v is used in $user{$v}{$instance} and in $name:" .
						" it is not of one always block\n" if $user{$v}{$instance};
					$user{$v}{$instance} = $name;
				}
				my $init = !$poison ? '' : $type{$v} =~ m{^Vl} ?
					" std::memset(&$v, 0xa5, sizeof($v));" : " $v = $type{$v}(0xa5a5a5a5);";
				$head .= "    $type{$v} $v;$init\n";
				$made++;
			}
			$body =~ s/vlSelf->($any)\b/$1/g;
			"$head$body\}\n";
		}gmse;
		open($out, '>', $file) or die "$file: $!\n";
		print $out $text;
		close($out) or die "$file: $!\n";
	}
}
print "scratch: $made variables are local\n";

# Makes Promela of a table of steps: an inline that does to the store what the row says that fits.
# Conditions are macros COLUMN_VALUE, effects are to_COLUMN_VALUE; the model defines them.
BEGIN { print "/* made from " table " by bin/check-models */\ninline step()\n{\n  if" }
/^#/ || NF == 0 { next }
!columns {
  for (i = 1; i <= NF; i++) { if ($i == "|") bar = i; name[i] = $i }
  columns = NF
  next
}
NF != columns || $bar != "|" { print table ": not a row: " $0 > "/dev/stderr"; failed = 1; exit 1 }
{
  line = "  :: ev == " $1
  for (i = 2; i < bar; i++) if ($i != "*") line = line " && " name[i] "_" $i
  line = line " -> answer = " $(bar + 1)
  for (i = bar + 2; i <= columns; i++) if ($i != "same") line = line "; to_" name[i] "_" $i
  print line
}
END { if (!failed) print "  :: else -> assert(TABLE)\n  fi;\n  TOLD_STEP\n}" }

package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquisitionId;

/**
 * The line of those who wait for a row's lock: the text in its column {@code waiters}, one entry of {@value #ENTRY} characters for
 * each, the first to be served in front. And what the statements say about it, as SQL expressions.
 *
 * <p><b>The claim.</b> A row that becomes free is kept for the first in its line for {@value #CLAIM_MILLIS} ms, counted by the
 * database's clock from its expiry, which a release sets to the present. Others are refused so long; who takes the row afterwards
 * strikes out those who were before it and did not come, so that one who died costs these milliseconds once. A claim is a
 * preference, no right: it refuses, and never grants what would not be granted without it.
 *
 * <p>If the database's clock was set back, the time of the last release lies ahead, and there is no claim.
 *
 * <p>An entry of a reader begins with {@value RowStates#READER}: a row that is kept for one reader may be taken by any, and then its
 * place is gone as well: it joins the other, or enters again behind a writer.
 * Entries are found as substrings; that one would be found where two others meet is as likely as two equal owners.
 *
 * <p>Immutable.
 */
final class WaitingLine {
    static final int ENTRY = 32;

    /** How long a free row is kept for the first in its line. */
    static final int CLAIM_MILLIS = 20;

    /** Of a row that was released later than this from now, the database's clock was set back. */
    static final int AHEAD_MILLIS = 1_000;

    private static final int MOST = 32;

    /** An entry that nobody has. */
    static final String NOBODY = "-";

    /** The column, never null. */
    static final String COLUMN = "COALESCE(waiters, '')";

    private final Dialect dialect;

    WaitingLine(Dialect dialect) {
        this.dialect = dialect;
    }

    /** What stands in the line for an acquisition; empty for permits, which do not stand in it. */
    static String entry(AcquisitionId acquisition) {
        String owner = acquisition.owner().toString();
        if (acquisition.demand() instanceof Demand.Permits) {
            return "";
        }
        return acquisition.demand() instanceof Demand.Shared ? RowStates.READER + owner.substring(1) : owner;
    }

    /** What the line has to begin with for an acquisition to be the next one. */
    static String claimant(AcquisitionId acquisition) {
        return acquisition.demand() instanceof Demand.Shared ? RowStates.READER : entry(acquisition);
    }

    /** Whether nobody waits. */
    String isEmpty() {
        return COLUMN + op("=") + "''";
    }

    /** Whether a row that is free may be taken: nobody waits, the claimant is the first, or the first did not come. */
    String mayBeTakenBy(String claimant) {
        return "(" + isEmpty() + " OR " + startsWith(claimant) + " OR expires" + op("<=")
                + dialect.nowPlusMillis("(" + -CLAIM_MILLIS + ")") + " OR expires" + op(">=")
                + dialect.nowPlusMillis("" + AHEAD_MILLIS) + ")";
    }

    /** Whether the row is free, and may be taken. */
    String isFreeFor(String claimant) {
        return "((owner IS NULL OR expires" + op("<=") + dialect.now() + ") AND " + mayBeTakenBy(claimant) + ")";
    }

    /** The line behind a grant: without the entry and whoever did not come; as it is if the row was had already. */
    String behindGrant(String alreadyMine, String entry, String claimant) {
        return "CASE WHEN " + isEmpty() + " OR COALESCE(" + alreadyMine + ", FALSE) THEN waiters WHEN "
                + startsWith(claimant) + " THEN " + without(from("" + (ENTRY + 1)), entry) + " WHEN " + contains(entry)
                + " THEN "
                + from(place(entry) + plus(ENTRY)) + " ELSE " + from("" + (ENTRY + 1)) + " END";
    }

    /** The line without an entry. */
    String without(String entry) {
        return without(COLUMN, entry);
    }

    private String without(String line, String entry) {
        return pg() + "replace(" + line + ", " + entry + ", '')";
    }

    /** Whether the entry is in the line. */
    String contains(String entry) {
        return place(entry) + op(">") + "0";
    }

    /** Whether the entry is not in the line, and there is room for it. */
    String hasRoomFor(String entry) {
        return "(" + place(entry) + op("=") + "0 AND " + pg() + "length(" + COLUMN + ")" + op("<") + ENTRY * MOST + ")";
    }

    /** The line with an entry behind all others. */
    String with(String entry) {
        return dialect == Dialect.POSTGRESQL
                ? "(" + COLUMN + " OPERATOR(pg_catalog.||) " + entry + ")"
                : "CONCAT(" + COLUMN + ", " + entry + ")";
    }

    private String startsWith(String beginning) {
        return dialect == Dialect.POSTGRESQL
                ? "pg_catalog.starts_with(" + COLUMN + ", " + beginning + ")"
                : place(beginning) + " = 1";
    }

    private String place(String entry) {
        return dialect == Dialect.POSTGRESQL
                ? "pg_catalog.strpos(" + COLUMN + ", " + entry + ")"
                : "LOCATE(" + entry + ", " + COLUMN + ")";
    }

    private String from(String position) {
        return dialect == Dialect.POSTGRESQL
                ? "pg_catalog.substr(" + COLUMN + ", " + position + ")"
                : "SUBSTRING(" + COLUMN + ", " + position + ")";
    }

    private String plus(int number) {
        return op("+") + number;
    }

    private String op(String symbol) {
        return " " + dialect.operator(symbol) + " ";
    }

    private String pg() {
        return dialect == Dialect.POSTGRESQL ? "pg_catalog." : "";
    }

    /** How many are before an entry; negative if it is not in the line. */
    static int place(String waiters, String entry) {
        int index = entry.isEmpty() ? -1 : waiters.indexOf(entry);
        return index < 0 ? -1 : index / ENTRY;
    }
}

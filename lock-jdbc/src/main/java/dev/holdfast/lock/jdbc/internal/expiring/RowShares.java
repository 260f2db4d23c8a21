package dev.holdfast.lock.jdbc.internal.expiring;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialect;
import dev.holdfast.lock.jdbc.internal.expiring.SharedRow.Mark;
import dev.holdfast.lock.jdbc.internal.expiring.SharedRow.Share;
import dev.holdfast.lock.jdbc.internal.sql.ExpiryRows;
import dev.holdfast.lock.jdbc.internal.sql.RowChange;
import dev.holdfast.lock.jdbc.internal.sql.RowOwners;
import dev.holdfast.lock.jdbc.internal.sql.StatementBinder;
import dev.holdfast.lock.jdbc.internal.sql.TableName;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.spi.support.BackgroundLog;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Shares and permits in the row of a lock, next to the mutex of {@link ExpiryStatements}, whose statements ignore them.
 *
 * <p><b>States of a row.</b> Its owner is empty, one lock's, {@code s} and one reader's, or {@value RowOwners#SHARED}: then
 * {@link SharedRow} in the column {@code shares} says who holds, and the row's expiry is the last of theirs. A mutex sees an
 * owner that is not its own. A reader alone is acquired, renewed and released by the statements of the mutex. The second one makes
 * the row a shared one.
 *
 * <p><b>Each change is a compare-and-set</b> on all that was read: owner, expiry, token and text. So changes of a name follow each
 * other, and one that comes late changes nothing, but where the row is as it was when it was read: then it is as if it had come in
 * time, since the ends that it writes were computed from the database's time of that reading. They lie at least a lease behind the
 * sending of the request.
 *
 * <p>Thread-safe.
 */
final class RowShares {
    private static final BackgroundLog LOG = BackgroundLog.of(RowShares.class);
    private static final int TRIES = 20;

    private final RowStateRepository rows;
    private final long markMillis;
    private final Set<OwnerId> marked = ConcurrentHashMap.newKeySet();

    RowShares(DatabaseDialect dialect, TableName table, long markMillis) {
        this.rows = new RowStateRepository(dialect, table);
        this.markMillis = markMillis;
    }

    /** Something of the acquisition may be left in the row: a mark that it waits. */
    record MarkTicket(OwnerId owner) implements Ticket {}

    /** What becomes of a request that the statements of the mutex found next to shares, or that is not for them. */
    AcquireResult tryAcquire(Connection connection, AcquireRequest request) throws SQLException {
        for (int i = 0; i < TRIES; i++) {
            RowState row = rows.read(connection, request.acquisition().name());
            Step step = row.isExclusive() ? besideLock(row, request) : besideShares(row, request);
            note(request.acquisition().owner(), step.answer); // before it is sent: its answer may be lost
            boolean makesRoom = step.answer instanceof AcquireResult.OtherLimit;
            if (step.next == null || rows.change(connection, row, step.next, makesRoom) != RowChange.NONE) {
                return step.answer;
            }
        }
        throw conflict();
    }

    private void note(OwnerId owner, AcquireResult answer) {
        if (answer instanceof AcquireResult.Busy busy && busy.ticket() instanceof MarkTicket) {
            marked.add(owner);
        } else {
            marked.remove(owner);
        }
    }

    /** The mutex had another answer for it: a mark that it made is not valid any more. */
    void noteMutex(AcquisitionId acquisition) {
        if (!marked.isEmpty()) {
            marked.remove(acquisition.owner());
        }
    }

    /** Ends what may be left of an acquisition: a share, permits, or the mark of a waiter next to some. */
    void abandon(Connection connection, AcquisitionId acquisition) throws SQLException {
        if (!(acquisition.demand() instanceof Demand.Exclusive) || marked.contains(acquisition.owner())) {
            leave(connection, acquisition);
            marked.remove(acquisition.owner());
        }
    }

    private static SQLException conflict() {
        return new SQLTransactionRollbackException("others changed the row each time", "40001");
    }

    /** What to answer once the row has been changed, if it has to be. */
    private record Step(AcquireResult answer, @Nullable RowState next) {}

    private Step besideLock(RowState row, AcquireRequest request) {
        if (isOtherLimit(row.shared(), request)) {
            return otherLimit(row, request);
        }
        AcquireResult busy = ExpiryRows.busy(row.expiresMillis() - row.nowMillis());
        return new Step(
                busy,
                request.waitMillis() > 0
                                && request.demand() instanceof Demand.Permits asked
                                && row.shared().limit() == 0
                        ? row.marked(row.shared().limitedTo(asked.limit()))
                        : null);
    }

    private static Step otherLimit(RowState row, AcquireRequest request) {
        String owner = request.acquisition().owner().toString();
        SharedRow shared = row.shared();
        return new Step(
                new AcquireResult.OtherLimit(shared.limit()),
                shared.isMarkedBy(owner) ? row.marked(shared.without(owner)) : null);
    }

    private Step besideShares(RowState row, AcquireRequest request) {
        String owner = request.acquisition().owner().toString();
        SharedRow shared = row.shared();
        Optional<Share> mine = shared.share(owner);
        if (mine.isPresent()) {
            Share renewed = mine.get().until(row.nowMillis() + request.leaseMillis() + 1);
            return new Step(granted(request, renewed), row.held(shared.with(renewed), row.token()));
        }
        if (isOtherLimit(shared, request)) {
            return otherLimit(row, request);
        }
        boolean room = shared.hasRoomFor(request);
        if (room && request.demand() instanceof Demand.Exclusive) {
            return new Step(ExpiryRows.busy(-1), null); // it has just become free: for the statement of the mutex
        }
        if (!room && request.waitMillis() == 0) {
            return new Step(busy(row), null);
        }
        SharedRow limited = request.demand() instanceof Demand.Permits asked ? shared.limitedTo(asked.limit()) : shared;
        if (!room) {
            SharedRow marked = needsMark(row, owner)
                    ? limited.markedBy(new Mark(owner, request.demand(), row.nowMillis() + markMillis, row.token()))
                    : limited;
            AcquireResult.Busy busy = busy(row);
            return new Step(
                    marked.isMarkedBy(owner)
                            ? new AcquireResult.Busy(
                                    busy.remainingMillis(),
                                    new MarkTicket(request.acquisition().owner()))
                            : busy,
                    marked.equals(shared) ? null : row.marked(marked));
        }
        Share share = new Share(
                owner,
                request.demand(),
                request.demand() instanceof Demand.Permits ? shared.freeSlot() : 0,
                row.token() + 1,
                row.nowMillis() + request.leaseMillis() + 1,
                row.nowMillis(),
                StatementBinder.storable(request.identity()));
        return new Step(granted(request, share), row.held(limited.with(share), share.token()));
    }

    private boolean needsMark(RowState row, String owner) {
        Mark mark = row.shared().mark();
        return mark == null
                || (mark.owner().equals(owner) && mark.untilMillis() - row.nowMillis() < markMillis * 9 / 10);
    }

    private static boolean isOtherLimit(SharedRow shared, AcquireRequest request) {
        return request.demand() instanceof Demand.Permits asked
                && shared.limit() != 0
                && shared.limit() != asked.limit();
    }

    private static AcquireResult granted(AcquireRequest request, Share share) {
        return new AcquireResult.Granted(
                new Grant(request.acquisition(), share.token(), request.leaseMillis(), share.slot(), null));
    }

    private static AcquireResult.Busy busy(RowState row) {
        long end = row.shared().firstEndMillis();
        return new AcquireResult.Busy(end == 0 ? -1 : Math.max(1, end - row.nowMillis()), null);
    }

    /** Ends what an acquisition has in a shared row. */
    RowChange leave(Connection connection, AcquisitionId acquisition) throws SQLException {
        String owner = acquisition.owner().toString();
        for (int i = 0; i < TRIES; i++) {
            RowState row = rows.read(connection, acquisition.name());
            SharedRow left = row.shared().without(owner);
            if (left.equals(row.shared())) {
                return RowChange.NONE;
            }
            boolean held = row.shared().share(owner).isPresent();
            RowChange changed =
                    rows.change(connection, row, held ? row.held(left, row.token()) : row.marked(left), true);
            if (changed != RowChange.NONE) {
                return !held
                        ? RowChange.NONE
                        : changed == RowChange.DONE_AND_AWAITED ? RowChange.DONE_AND_AWAITED : RowChange.DONE;
            }
        }
        throw conflict();
    }

    /**
     * Renews those that are in shared rows, each by itself, until one fails: what was renewed before it counts, and the next
     * renewal has only the rest to do.
     *
     * @param renewed gets those that were renewed; what is in it already was
     * @param unknown gets those of which nothing is known
     */
    void renew(Connection connection, List<Grant> grants, Set<OwnerId> renewed, Set<OwnerId> unknown)
            throws SQLException {
        for (int i = 0; i < grants.size(); i++) {
            try {
                renew(connection, grants.get(i), renewed, unknown);
            } catch (SQLException e) {
                if (renewed.isEmpty() || !connection.getAutoCommit()) { // a transaction is taken back as a whole
                    throw e;
                }
                LOG.debug("renewal of {} shares and permits was cut short", grants.size() - i, e);
                grants.subList(i, grants.size())
                        .forEach(grant -> unknown.add(grant.acquisition().owner()));
                return;
            }
        }
    }

    private void renew(Connection connection, Grant grant, Set<OwnerId> renewed, Set<OwnerId> unknown)
            throws SQLException {
        OwnerId owner = grant.acquisition().owner();
        for (int i = 0; i < TRIES; i++) {
            RowState row = rows.readUnlocked(connection, grant.acquisition().name());
            if (row == null) {
                unknown.add(owner);
                return;
            }
            Optional<Share> mine = row.shared().share(owner.toString());
            if (row.isExclusive() || mine.isEmpty()) {
                return;
            }
            Share longer = mine.get().until(row.nowMillis() + grant.leaseMillis() + 1);
            RowState next = row.held(row.shared().with(longer), row.token());
            if (rows.change(connection, row, next, false) != RowChange.NONE) {
                renewed.add(owner);
                return;
            }
        }
        throw conflict();
    }

    List<HolderInfo> holders(Connection connection, String name) throws SQLException {
        RowState row = rows.read(connection, name);
        return row.isExclusive()
                ? row.exclusiveHolder().stream().toList()
                : row.shared().shares().stream().map(Share::info).toList();
    }

    int changeLimit(Connection connection, String name, int from, int to) throws SQLException {
        for (int i = 0; i < TRIES; i++) {
            RowState row = rows.read(connection, name);
            int stored = row.shared().limit();
            if (stored == to || (stored != 0 && stored != from)) {
                return stored;
            }
            if (rows.change(connection, row, row.marked(row.shared().limitedTo(to)), true) != RowChange.NONE) {
                return to;
            }
        }
        throw conflict();
    }
}

package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.zookeeper.ZooKeeperAcquisition.Place;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * What a look at the queue and the {@linkplain PermitBook book} says to one who asks for permits. There is room by position;
 * who has it holds as soon as the book says so, by a write of its own or of somebody else who has written for all. A write without
 * an answer leaves nothing that could be found later: either the book says so, which the next look shows, or it is refused,
 * because somebody has written since or the place is gone. Stateless.
 */
final class PermitTurn {
    private static final int ROUNDS = 50;

    private final PermitBooks books;
    private final Endings endings;
    private final BiFunction<Attempt, Place, CompletableFuture<AcquireResult>> look;
    private final Function<Attempt, CompletableFuture<AcquireResult>> deleted;

    /** Makes it; {@code look} is to look again, {@code deleted} for a place that was not found. */
    PermitTurn(
            PermitBooks books,
            Endings endings,
            BiFunction<Attempt, Place, CompletableFuture<AcquireResult>> look,
            Function<Attempt, CompletableFuture<AcquireResult>> deleted) {
        this.books = books;
        this.endings = endings;
        this.look = look;
        this.deleted = deleted;
    }

    /** Decides for the place with that index in a line. */
    CompletableFuture<AcquireResult> decide(Attempt run, Place place, PermitLine line, int index, long certainMillis) {
        boolean waits = run.request().waitMillis() > 0;
        PermitLine.Turn turn = line.turnOf(index);
        if (turn instanceof PermitLine.Turn.Held held) {
            return granted(run, place, held.slot(), certainMillis);
        }
        if (turn instanceof PermitLine.Turn.OtherLimit other) {
            return endings.leaveNothing(run).thenApply(busy -> new AcquireResult.OtherLimit(other.limit()));
        }
        if (turn instanceof PermitLine.Turn.NoLimit none && (none.room() || waits)) {
            Attempt again = afterRound(run);
            int limit = ((Demand.Permits) run.node().acquisition().demand()).limit();
            return books.create(run.session(), run.name(), limit).thenCompose(created -> look.apply(again, place));
        }
        if (turn instanceof PermitLine.Turn.Room room) {
            return write(run, place, room.next());
        }
        return waits
                ? CompletableFuture.completedFuture(new AcquireResult.Busy(-1, run.node()))
                : endings.leaveNothing(run);
    }

    private CompletableFuture<AcquireResult> write(Attempt run, Place place, PermitBook book) {
        return books.write(run.session(), run.name(), book, place.path()).thenCompose(written -> switch (written) {
            case DONE ->
                granted(run, place, book.slotOf(place.child()), run.session().certainMillis());
            case OVERTAKEN -> look.apply(afterRound(run), place);
            case WITHOUT_PLACE -> deleted.apply(run);
        });
    }

    private CompletableFuture<AcquireResult> granted(Attempt run, Place place, int slot, long certainMillis) {
        run.node().slot = slot;
        return endings.granted(run, place, certainMillis);
    }

    private static Attempt afterRound(Attempt run) {
        if (run.round() >= ROUNDS) {
            throw new LockUnavailableException(
                    "others were faster to take permits of '" + run.name() + "' " + ROUNDS + " times in a row");
        }
        return run.next();
    }
}

package dev.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockConfigurationException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.junit.jupiter.api.Test;

/** When a name is refused because its listing breaks the connection, and when not. */
class ListingsTest {
    private final List<String> sent = new ArrayList<>();
    private final List<CompletableFuture<List<String>>> replies = new ArrayList<>();
    private final AtomicLong nanos = new AtomicLong();
    private boolean away;
    private final Listings listings = new Listings(this::list, this::prove, nanos::get);

    private CompletableFuture<List<String>> list(String path) {
        sent.add("list " + path);
        CompletableFuture<List<String>> reply = new CompletableFuture<>();
        replies.add(reply);
        return reply;
    }

    private CompletableFuture<?> prove(String path) {
        sent.add("prove " + path);
        return away
                ? CompletableFuture.failedFuture(loss())
                : CompletableFuture.failedFuture(KeeperException.create(Code.NONODE));
    }

    private static KeeperException loss() {
        return KeeperException.create(Code.CONNECTIONLOSS);
    }

    /** The connection breaks: all running requests are lost. */
    private void breakConnection() {
        List<CompletableFuture<List<String>>> lost = List.copyOf(replies);
        replies.clear();
        lost.forEach(reply -> reply.completeExceptionally(loss()));
    }

    private void answer() {
        List<CompletableFuture<List<String>>> answered = List.copyOf(replies);
        replies.clear();
        answered.forEach(reply -> reply.complete(List.of()));
    }

    @Test
    void children_answered_needOneRequest() {
        for (int i = 0; i < 3; i++) {
            CompletableFuture<List<String>> listed = listings.children("/a");
            answer();
            assertThat(listed).isCompletedWithValue(List.of());
        }
        assertThat(sent).containsExactly("list /a", "list /a", "list /a");
    }

    @Test
    void children_thatBreakTheConnectionAgainAndAgain_areRefusedForAMinute() {
        for (int i = 0; i <= Listings.PROOFS; i++) {
            CompletableFuture<List<String>> listed = listings.children("/hot");
            breakConnection();
            assertThat(listed).isCompletedExceptionally();
        }
        sent.clear();

        assertThatThrownBy(() -> listings.children("/hot").join())
                .hasCauseInstanceOf(LockConfigurationException.class)
                .hasMessageContaining("/hot")
                .hasMessageContaining("jute.maxbuffer");
        assertThat(sent).isEmpty();

        nanos.addAndGet(TimeUnit.MINUTES.toNanos(1));
        listings.children("/hot");
        assertThat(sent).containsExactly("prove /hot", "list /hot");
        breakConnection();
        assertThatThrownBy(() -> listings.children("/hot").join()).hasCauseInstanceOf(LockConfigurationException.class);
        nanos.addAndGet(TimeUnit.MINUTES.toNanos(1));
        CompletableFuture<List<String>> cured = listings.children("/hot");
        answer();
        assertThat(cured).isCompleted();
        sent.clear();
        listings.children("/hot");
        assertThat(sent).containsExactly("list /hot");
    }

    @Test
    void children_duringAnOutage_areNeverRefused() {
        listings.children("/a");
        breakConnection();
        away = true;
        for (int i = 0; i < 100; i++) {
            assertThat(listings.children("/a")).isCompletedExceptionally();
        }
        away = false;
        CompletableFuture<List<String>> listed = listings.children("/a");
        answer();
        assertThat(listed).isCompleted();
    }

    /** A name that is cut off together with the poisoned one is not mistaken for it. */
    @Test
    void children_ofNeighbours_areSentApartAndAnswered() {
        int cutOff = 0;
        for (int i = 0; i < 10; i++) {
            CompletableFuture<List<String>> hot = listings.children("/hot");
            CompletableFuture<List<String>> neighbour = listings.children("/q");
            if (!hot.isDone()) {
                breakConnection();
            }
            assertThat(hot).isCompletedExceptionally();
            answer();
            if (neighbour.isCompletedExceptionally()) {
                cutOff++;
            } else {
                assertThat(neighbour).isCompletedWithValue(List.of());
            }
        }
        assertThat(cutOff).as("losses along with it, before it is refused").isBetween(1, Listings.PROOFS);
        sent.clear();
        CompletableFuture<List<String>> neighbour = listings.children("/q");
        answer();
        assertThat(neighbour).isCompletedWithValue(List.of());
        assertThatThrownBy(() -> listings.children("/hot").join()).hasCauseInstanceOf(LockConfigurationException.class);
        assertThat(sent).doesNotContain("list /hot");
    }
}

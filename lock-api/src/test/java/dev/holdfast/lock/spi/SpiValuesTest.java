package dev.holdfast.lock.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Valid values of the SPI's types, and their text forms. */
class SpiValuesTest {
    private static final AcquisitionId ACQUISITION = new AcquisitionId("n\n", new OwnerId(1, 2));

    @ParameterizedTest
    @CsvSource({
        "1, 1, true",
        "9007199254740991, 15000, true", // 2^53 - 1
        "9007199254740992, 15000, false",
        "0, 15000, false",
        "-1, 15000, false",
        "1, 0, false"
    })
    void grant_hasATokenAndALease(long token, long leaseMillis, boolean allowed) {
        if (allowed) {
            assertThatCode(() -> new Grant(ACQUISITION, token, leaseMillis, null))
                    .doesNotThrowAnyException();
        } else {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> new Grant(ACQUISITION, token, leaseMillis, null))
                    .withMessageNotContaining("'n"); // the engine adds the lock's name
        }
    }

    @Test
    void grant_ofPermitsAlone_hasASlot() {
        AcquisitionId permits = new AcquisitionId("n", new OwnerId(1, 2), new Demand.Permits(2, 3));

        assertThat(new Grant(permits, 1, 15_000, 3, null).demand()).isEqualTo(permits.demand());
        assertThat(new Grant(permits, 1, 15_000, 1, null).slot()).isEqualTo(1);
        assertThatIllegalArgumentException().isThrownBy(() -> new Grant(permits, 1, 15_000, null));
        assertThatIllegalArgumentException().isThrownBy(() -> new Grant(ACQUISITION, 1, 15_000, 1, null));
        assertThat(ACQUISITION.demand()).isEqualTo(Demand.EXCLUSIVE);
    }

    @Test
    void grant_thatCannotBe_saysWhatTheServerGranted() {
        AcquisitionId permits = new AcquisitionId("n", new OwnerId(1, 2), new Demand.Permits(2, 3));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Grant(ACQUISITION, 0, 15_000, null))
                .withMessage("token 0 is out of range 1 to 2^53 - 1; the store's counter cannot be used");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Grant(ACQUISITION, 1, -5, null))
                .withMessage("the server granted a lease of -5 ms");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Grant(permits, 1, 15_000, null))
                .withMessage("the server granted slot 0 for 2 of 3 permits");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> info("x", 0, 5, 4))
                .withMessage("invalid backend info of 'x': shortest lease 0 ms, poll 5..4 ms, demands [EXCLUSIVE]");
    }

    @Test
    void info_hasExclusiveDemands_alwaysAndAtFirstAlone() {
        BackendInfo info = info("x", 1, 1, 1);
        assertThat(info.demands()).containsExactly(Demand.Kind.EXCLUSIVE);
        assertThat(info.toBuilder().demands(EnumSet.allOf(Demand.Kind.class)).build().toBuilder()
                        .build()
                        .demands())
                .hasSize(3);
        assertThatIllegalArgumentException()
                .isThrownBy(() ->
                        info.toBuilder().demands(EnumSet.of(Demand.Kind.SHARED)).build());
    }

    @ParameterizedTest
    @CsvSource({
        "x, 1, 1, 1, true",
        "x, 1, 5, 6, true",
        "' ', 1, 1, 1, false",
        "x, 0, 1, 1, false",
        "x, 1, 0, 1, false",
        "x, 1, 2, 1, false"
    })
    void info_isWithinItsRanges(String name, long lease, long least, long most, boolean allowed) {
        if (allowed) {
            BackendInfo info = info(name, lease, least, most);
            assertThat(info.blocking()).isFalse();
            assertThat(info.fifo()).isFalse();
            assertThat(info.ordered()).isFalse();
            assertThat(info.expiring()).isFalse();
        } else {
            assertThatIllegalArgumentException().isThrownBy(() -> info(name, lease, least, most));
        }
    }

    private static BackendInfo info(String name, long lease, long least, long most) {
        return BackendInfo.named(name)
                .minLeaseMillis(lease)
                .pollMinMillis(least)
                .pollMaxMillis(most)
                .build();
    }

    @Test
    void info_withAnotherFact_keepsTheOthers() {
        BackendInfo info = BackendInfo.named("x")
                .blocking(true)
                .fifo(true)
                .minLeaseMillis(1)
                .pollMinMillis(2)
                .pollMaxMillis(3)
                .ordered(true)
                .expiring(true)
                .build();
        BackendInfo other = info.toBuilder().pollMaxMillis(4).build();

        assertThat(other)
                .usingRecursiveComparison()
                .ignoringFields("pollMaxMillis")
                .isEqualTo(info);
        assertThat(other.pollMaxMillis()).isEqualTo(4);
        assertThat(info.name()).isEqualTo("x");
        assertThat(info.blocking() && info.fifo() && info.ordered() && info.expiring())
                .isTrue();
        assertThat(info.minLeaseMillis()).isEqualTo(1);
        assertThat(info.pollMinMillis()).isEqualTo(2);
        assertThat(info.pollMaxMillis()).isEqualTo(3);
    }

    @Test
    void ownerId_isWrittenInFull() {
        assertThat(new OwnerId(0x0123456789abcdefL, 0xfedcba9876543210L))
                .hasToString("0123456789abcdeffedcba9876543210");
        assertThat(new OwnerId(0, 1)).hasToString("0".repeat(31) + "1");
    }

    @Test
    void ownerIds_differ() {
        Set<OwnerId> ids = new HashSet<>();
        for (int i = 0; i < 100; i++) {
            OwnerId id = OwnerId.random();
            assertThat(id.high()).isNotEqualTo(id.low());
            assertThat(ids.add(id)).isTrue();
        }
    }

    @Test
    void identity_isReadAsItWasWritten() {
        Identity identity = new Identity("a worker, the 2nd", "host-1", 42);
        assertThat(identity.encoded()).isEqualTo("42 host-1 a worker, the 2nd");
        assertThat(Identity.decode(identity.encoded())).isEqualTo(identity);
        assertThat(Identity.decode("7 h ")).isEqualTo(new Identity("", "h", 7));
    }

    @Test
    void identity_isTheHolderOfAGrant() {
        HolderInfo holder = new Identity("me", "host-1", 42).holderInfo(7, Instant.EPOCH);
        assertThat(holder).isEqualTo(new HolderInfo("me", "host-1", 42, Instant.EPOCH, 7));
    }

    @ParameterizedTest
    @CsvSource({"'by hand'", "'by hand, at night'", "'42 host'", "'1234567890123456789 host who'", "''"})
    void identity_ofAnythingElse_isTheWholeText(String text) {
        assertThat(Identity.decode(text)).isEqualTo(new Identity(text, "", 0));
    }

    @Test
    void identity_ofThisProcess_saysWhere() {
        Identity here = Identity.ofThisProcess("me");
        assertThat(here.who()).isEqualTo("me");
        assertThat(here.pid()).isEqualTo(ProcessHandle.current().pid());
        assertThat(here.host()).isNotEmpty().doesNotContain(" ");
    }

    @Test
    void info_saysEachFactOfItself() {
        BackendInfo none = info("x", 1, 2, 3);
        assertThat(none.listing()).isFalse();
        assertThat(none.handsOver()).isFalse();
        assertThat(none).hasToString("BackendInfo[x]");
        BackendInfo listing = none.toBuilder().listing(true).build();
        assertThat(listing.toBuilder().build().listing()).isTrue();
        assertThat(none.whyNotShared()).isEmpty();
        assertThat(none.toBuilder().whyNotShared("no mode").build().toBuilder()
                        .build()
                        .whyNotShared())
                .isEqualTo("no mode");
        assertThat(listing.handsOver()).isFalse();
        BackendInfo handsOver = none.toBuilder().handsOver(true).build();
        assertThat(handsOver.toBuilder().build().handsOver()).isTrue();
        assertThat(handsOver.listing()).isFalse();
    }

    @Test
    void request_isForWhatItsAcquisitionDemands() {
        AcquisitionId shared = new AcquisitionId("n", new OwnerId(1, 2), Demand.SHARED);
        Identity identity = Identity.ofThisProcess("");
        Ticket ticket = new Ticket() {};
        AcquireRequest request = new AcquireRequest(shared, 1, 2, true, ticket, 3, identity);
        assertThat(request.demand()).isEqualTo(Demand.SHARED);
        assertThat(request).isEqualTo(new AcquireRequest(shared, 1, 2, true, ticket, 3, identity, null));
    }

    @Test
    void identity_isTheHolderOfPermits() {
        Demand two = new Demand.Permits(2, 3);
        assertThat(new Identity("me", "host-1", 42).holderInfo(7, Instant.EPOCH, two, 5))
                .isEqualTo(new HolderInfo("me", "host-1", 42, Instant.EPOCH, 7, two, 5));
    }

    @Test
    void backend_thatDoesTheLeast_hasOneHolderAndNoMore() {
        HolderInfo holder = new HolderInfo("me", "h", 1, Instant.EPOCH, 7);
        LockBackend least = new LeastBackend(Optional.of(holder));
        assertThat(least.holders("n", 1)).isCompletedWithValue(List.of(holder));
        assertThat(new LeastBackend(Optional.empty()).holders("n", 1)).isCompletedWithValue(List.of());
        assertThat(least.examine(1)).isCompletedWithValue(List.of());
        assertThat(least.subscribe(new Ticket() {}, () -> {})).isSameAs(Subscription.NONE);
        assertThat(least.changeLimit("n", 1, 2, 1))
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .withMessageContaining("least has no permits");
        assertThat(least.list("", 1, 1))
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .withMessageContaining("least keeps locks in a way that cannot be listed");
    }

    private record LeastBackend(Optional<HolderInfo> present) implements LockBackend {
        @Override
        public BackendInfo info() {
            return SpiValuesTest.info("least", 1, 1, 1);
        }

        @Override
        public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
            throw new UnsupportedOperationException();
        }

        @Override
        public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
            throw new UnsupportedOperationException();
        }

        @Override
        public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
            throw new UnsupportedOperationException();
        }

        @Override
        public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
            throw new UnsupportedOperationException();
        }

        @Override
        public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
            return CompletableFuture.completedFuture(present);
        }

        @Override
        public void close() {}
    }
}

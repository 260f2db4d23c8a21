package dev.holdfast.lock.testkit.contract.backend;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.Need;
import dev.holdfast.lock.testkit.fixture.TestIf;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

public abstract class BackendTokensContract extends BackendGroup {
    private static final int GRANTS = 300;

    public BackendTokensContract(ContractContext context) {
        super(context);
    }

    @Test
    @DisplayName("rises strictly over 300 grants to two backends in turn")
    void token_manyGrants_risesStrictly() {
        String name = newName();
        long last = 0;
        for (int i = 0; i < GRANTS; i++) {
            LockBackend backend = i % 2 == 0 ? first() : second();
            Grant grant = BackendDriver.of(backend, name).acquire();
            assertThat(grant.token()).as("token of grant %d", i).isGreaterThan(last);
            last = grant.token();
            release(backend, grant);
        }
    }

    @Test
    @DisplayName("rises after the backend of the last holder was closed")
    void token_afterClose_rises() {
        String name = newName();
        long earlier;
        try (LockBackend backend = ContractContext.observed(fixture().newBackend())) {
            Grant grant = BackendDriver.of(backend, name).acquire();
            earlier = grant.token();
            release(backend, grant);
        }

        assertThat(granted(first(), name).token()).isGreaterThan(earlier);
    }

    @Test
    @DisplayName("rises after a grant that was abandoned")
    void token_afterAbandon_rises() {
        String name = newName();
        BackendDriver abandoned = driver(first(), name);
        long earlier = abandoned.acquire().token();
        abandoned.abandon();

        assertThat(granted(second(), name).token()).isGreaterThan(earlier);
    }

    @Test
    @DisplayName("rises after an acquisition that waited in vain")
    void token_afterWaiterLeft_rises() {
        String name = newName();
        Grant earlier = granted(first(), name);
        BackendDriver waiter = driver(second(), name);
        waiter.queueUp();
        waiter.abandon();
        release(first(), earlier);

        assertThat(granted(first(), name).token()).isGreaterThan(earlier.token());
    }

    @TestIf(Need.EXPIRE)
    @DisplayName("rises over 20 grants that all expired")
    void token_afterExpiries_rises() throws Exception {
        String name = newName();
        long last = 0;
        for (int i = 0; i < 20; i++) {
            Grant grant = driver(i % 2 == 0 ? first() : second(), name).await(PATIENCE);
            assertThat(grant.token()).as("token of grant %d", i).isGreaterThan(last);
            last = grant.token();
            fixture().expire(name);
        }
    }

    @Test
    @DisplayName("goes by the grant, not by who asked first")
    void token_askedFirstGrantedLast_isHigher() {
        String name = newName();
        Grant held = granted(first(), name);
        BackendDriver early = driver(first(), name);
        early.assertBusy();
        release(first(), held);
        Grant late = granted(second(), name);
        release(second(), late);

        assertThat(early.acquire().token()).isGreaterThan(late.token());
    }
}

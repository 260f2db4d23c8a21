package dev.holdfast.lock.shedlock;

import java.util.UUID;

class H2ProviderTest extends ProviderContract {
    @Override
    String start() {
        return "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
    }

    @Override
    void stop() {}
}

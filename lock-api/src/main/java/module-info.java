/** The lock API, the backend SPI and the engine that joins them. */
module dev.holdfast.lock {
    requires static org.jspecify;
    requires org.slf4j;

    exports dev.holdfast.lock;
    exports dev.holdfast.lock.spi;
    exports dev.holdfast.lock.spi.support;
    exports dev.holdfast.lock.engine;
    exports dev.holdfast.lock.recipe;

    uses dev.holdfast.lock.LockProvider;
}

/** Meters and observations of locks. */
module dev.holdfast.lock.micrometer {
    requires static transitive org.jspecify;
    requires transitive dev.holdfast.lock;
    requires transitive micrometer.core;
    requires transitive micrometer.commons;
    requires transitive micrometer.observation;

    exports dev.holdfast.lock.micrometer;
}

package org.springframework.samples.petclinic;

import dev.holdfast.lock.spring.CurrentLease;
import dev.holdfast.lock.spring.Locked;

/** A bean of an application that has its classes in a package of Spring's. */
public class Appointments {

    @Locked("appointments/#{#room}")
    public String reserve(String room) {
        return CurrentLease.require().name();
    }
}

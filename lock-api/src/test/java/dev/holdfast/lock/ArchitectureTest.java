package dev.holdfast.lock;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.methods;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import dev.holdfast.lock.spi.support.Answers;
import dev.holdfast.lock.spi.support.BackgroundLog;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The direction of dependencies, as ARCHITECTURE.md draws it. */
class ArchitectureTest {

    private static final String API = "dev.holdfast.lock";
    private static final String SPI = "dev.holdfast.lock.spi..";
    private static final String RECIPE = "dev.holdfast.lock.recipe..";
    private static final String ENGINE = "dev.holdfast.lock.engine..";

    private static final JavaClasses CLASSES = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .importPackages(API);

    @Test
    void api_importsNothingOfOurs() {
        noClasses()
                .that()
                .resideInAPackage(API)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(SPI, RECIPE, ENGINE)
                .check(CLASSES);
        noClasses()
                .that()
                .resideInAPackage(RECIPE)
                .should()
                .dependOnClassesThat(JavaClass.Predicates.resideInAnyPackage(SPI, ENGINE)
                        .and(DescribedPredicate.not(JavaClass.Predicates.equivalentTo(BackgroundLog.class)))
                        .as("belong to the SPI or to the engine, except the log"))
                .check(CLASSES);
    }

    @Test
    void spi_importsTheApiOnly() {
        noClasses()
                .that()
                .resideInAPackage(SPI)
                .should()
                .dependOnClassesThat()
                .resideInAPackage(ENGINE)
                .check(CLASSES);
    }

    @Test
    void everything_importsTheJdkSlf4jAndJspecifyOnly() {
        classes()
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(
                        "java..", "javax.net.ssl..", "dev.holdfast.lock..", "org.slf4j..", "org.jspecify.annotations..")
                .check(CLASSES);
    }

    @Test
    void engine_hasOneClassForOtherModules() {
        List<String> open = CLASSES.stream()
                .filter(type -> type.getPackageName().equals("dev.holdfast.lock.engine"))
                .filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC) && type.isTopLevelClass())
                .map(JavaClass::getSimpleName)
                .toList();
        assertThat(open).containsExactly("LockEngine");
    }

    @Test
    void packages_haveNoCycles() {
        slices().matching("dev.holdfast.(**)").should().beFreeOfCycles().check(CLASSES);
    }

    @Test
    void methods_areNotSynchronized() {
        methods().should().notHaveModifier(JavaModifier.SYNCHRONIZED).check(CLASSES);
    }

    @Test
    void library_neitherSleepsNorPrints() {
        noClasses()
                .should()
                .callMethod(Thread.class, "sleep", long.class)
                .orShould()
                .callMethod(Thread.class, "sleep", long.class, int.class)
                .check(CLASSES);
        noClasses()
                .should()
                .accessTargetWhere(DescribedPredicate.describe(
                        "is System.out or System.err",
                        access -> access.getTargetOwner().isEquivalentTo(System.class)
                                && List.of("out", "err").contains(access.getName())))
                .check(CLASSES);
    }

    /** On a thread of the common pool, these run other tasks of the pool while they wait; see {@link Answers}. */
    @Test
    void library_waitsForFuturesByParkingOnly() {
        noClasses()
                .should()
                .callMethod(CompletableFuture.class, "get", long.class, TimeUnit.class)
                .check(CLASSES);
    }

    @Test
    void publicTypes_areFinalOrMeantToBeImplemented() {
        classes()
                .that()
                .arePublic()
                .and()
                .resideOutsideOfPackage("..internal..")
                .and()
                .areNotInterfaces()
                .and()
                .areTopLevelClasses()
                .and()
                .areNotAssignableTo(Throwable.class)
                .should()
                .haveModifier(JavaModifier.FINAL)
                .check(CLASSES);
    }
}

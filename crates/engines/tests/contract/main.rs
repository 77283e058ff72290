//! What every engine's sessions must do, on the real engine.
//!
//! The suite is written once, over the traits; `systems` says what a system is, and has one for each engine. SQLite is always
//! there. A server is where the environment says in DBDYNO_TEST_POSTGRESQL, DBDYNO_TEST_MYSQL or DBDYNO_TEST_MONGODB: the JSON
//! of a target, with host, port, user and database (`tests/servers.py` starts servers and sets them). Without it its tests
//! pass, and say that they were skipped.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod bulk;
mod client;
mod documents;
mod servers;
mod statements;
mod systems;

/// Makes a test of each function of a module, for a system.
macro_rules! tests {
    ($system:ident, $module:ident: $($test:ident),+ $(,)?) => {
        $(
            #[test]
            fn $test() {
                if let Some(system) = <$system as $crate::systems::System>::new() {
                    $crate::$module::$test(&system);
                }
            }
        )+
    };
}

macro_rules! statements {
    ($system:ident) => {
        tests!($system, statements:
            values_come_back_as_they_were_sent,
            nulls_and_missing_rows_are_null,
            all_rows_are_fetched_and_all_changes_counted,
            values_of_changing_kinds_go_into_one_statement,
            a_transaction_ends_as_it_is_told,
            failures_have_their_kind_and_leave_the_session_usable,
            a_failure_in_a_transaction_is_rolled_back,
            the_number_of_values_must_be_that_of_the_parameters,
            statements_are_prepared_ahead_or_it_is_told_which_cannot_be,
            an_engine_says_what_it_is_and_how_it_will_do_each_statement,
            closing_ends_what_is_open,
        );
        tests!($system, bulk:
            a_loaded_table_holds_the_values_that_were_made,
            loading_tells_what_is_wrong,
        );
    };
}

macro_rules! servers {
    ($system:ident) => {
        tests!($system, servers:
            columns_have_the_types_of_the_server,
            the_first_row_is_taken_of_many,
            a_deadlock_is_told_apart,
            a_statement_that_takes_too_long_is_a_timeout,
            a_statement_that_is_cancelled_is_a_timeout,
            a_session_that_is_ended_has_lost_its_connection,
            a_session_that_is_ended_within_a_statement_has_lost_its_connection,
            what_cannot_be_connected_to_is_told,
            settings_of_the_session_are_in_force,
            very_long_values_go_both_ways,
            answers_that_come_in_pieces_are_put_together,
            many_sessions_work_at_once,
            a_password_is_checked,
        );
    };
}

mod sqlite {
    use crate::systems::Sqlite;

    statements!(Sqlite);

    #[test]
    fn a_file_that_is_no_database_is_told_so() {
        use crate::systems::System as _;
        let system = crate::systems::Sqlite::new().unwrap();
        std::fs::write(system.path(), vec![b'x'; 4096]).unwrap();
        let failure = system
            .client(Default::default())
            .run(crate::systems::COUNT, &[])
            .unwrap_err();
        assert_eq!(
            failure.kind,
            dbdyno_plan::document::FailureKind::Connection,
            "{failure}"
        );
    }
}

mod postgresql {
    use crate::systems::Postgresql;

    statements!(Postgresql);
    servers!(Postgresql);
}

mod mysql {
    use crate::systems::Mysql;

    statements!(Mysql);
    servers!(Mysql);
    tests!(Mysql, servers:
        the_durability_is_that_of_the_tables,
        text_in_the_text_is_what_it_was_whatever_backslashes_mean,
    );
}

/// What does not hold of it is named by `what_cannot_apply_is_named`.
mod mongodb {
    use crate::documents::Mongodb;

    tests!(Mongodb, statements:
        values_come_back_as_they_were_sent,
        nulls_and_missing_rows_are_null,
        all_rows_are_fetched_and_all_changes_counted,
        values_of_changing_kinds_go_into_one_statement,
        the_number_of_values_must_be_that_of_the_parameters,
    );
    tests!(Mongodb, bulk:
        a_loaded_table_holds_the_values_that_were_made,
        loading_tells_what_is_wrong,
    );
    tests!(Mongodb, servers: many_sessions_work_at_once);
    tests!(Mongodb, documents:
        failures_have_their_kind_and_leave_the_session_usable,
        a_transaction_cannot_be_begun,
        a_statement_that_is_no_command_is_told_at_once,
        fields_have_the_types_of_the_server,
        rows_come_in_batches_and_the_first_is_taken,
        each_kind_of_answer_gives_its_rows,
        a_statement_that_takes_too_long_is_a_timeout,
        what_cannot_be_connected_to_is_told,
        very_long_values_go_both_ways,
        an_engine_says_what_it_is_and_how_it_will_do_each_statement,
        what_cannot_apply_is_named,
    );
}

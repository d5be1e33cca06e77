// The tables of the store in PostgreSQL, as a list of migrations: each brings the tables of the one before to the next
// version. Those that were released are never edited: a test holds their digests, and a database remembers them.
#ifndef BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_MIGRATIONS_H_
#define BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_MIGRATIONS_H_

#include <string>
#include <vector>

#include "aggregator_server/store/postgres_session.h"

namespace blink {

// Migration i + 1 at i. The last one's number is the version of the tables.
const std::vector<std::string>& PostgresMigrations();

// The version of the tables in the database; 0: there are none. Errors as of Migrate.
absl::StatusOr<size_t> ReadTablesVersion(pqxx::transaction_base& transaction,
                                         const std::vector<std::string>& migrations);

// Brings the tables to the last of `migrations`, in one transaction, while all others wait. FAILED_PRECONDITION: the
// database has a newer version, or one of its migrations was another; nothing was changed then.
PostgresOutcome Migrate(PostgresSession& session, const std::vector<std::string>& migrations = PostgresMigrations());

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_MIGRATIONS_H_

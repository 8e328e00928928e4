// Preloaded into a Latchkey that is only asked, not measured: tells which statements each request sends to PostgreSQL.
import pg from 'pg'

/** What is sent when a connection is made, or between requests. */
const NOT_OF_A_REQUEST = /^\s*(SET|SHOW)\b|server_version|pg_is_in_recovery|INSERT INTO last_used/i

let sent = []
const query = pg.Client.prototype.query
pg.Client.prototype.query = function (asked, ...rest) {
  // Latchkey hands the driver batches of statements.
  const statements = asked.statements ?? [typeof asked === 'string' ? { text: asked, values: rest[0] } : asked]
  for (const { name, text, values } of statements) {
    if (typeof text !== 'string' || NOT_OF_A_REQUEST.test(text)) continue
    sent.push({ text, ...(name && { name }), ...(values?.length > 0 && { values: [...values] }) })
  }
  return query.call(this, asked, ...rest)
}
process.on('message', () => {
  process.send?.({ sent })
  sent = []
})
// The channel alone does not keep the process from ending.
process.channel?.unref()

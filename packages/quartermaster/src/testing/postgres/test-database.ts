import { createHash, randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { Client } from 'pg'
import { inject, onTestFinished } from 'vitest'
import { hasPostgresBinaries } from './postgres-server.ts'

/** Whether tests can have a PostgreSQL: one that was named, or one of our own. */
export function hasPostgres(): boolean {
  return process.env.TEST_DATABASE_URL !== undefined || hasPostgresBinaries()
}

/** The address of the server that tests share. */
export async function sharedPostgres(): Promise<string> {
  const named = process.env.TEST_DATABASE_URL
  if (named !== undefined) return named
  const { url, error } = JSON.parse(await text(connect(inject('postgresFixture'), '127.0.0.1'))) as {
    url?: string
    error?: string
  }
  if (url === undefined) throw new Error(error)
  return url
}

/** A database for one test: a schema of its own. The same name is the same one. */
export async function testDatabase(name: string = randomUUID()): Promise<string> {
  const server = await sharedPostgres()
  const schema = `test_${createHash('sha256').update(name).digest('hex').slice(0, 16)}`
  await ask(server, `create schema if not exists ${schema}`)
  // Our own server is thrown away as a whole.
  if (process.env.TEST_DATABASE_URL !== undefined)
    onTestFinished(() => ask(server, `drop schema if exists ${schema} cascade`).then(() => undefined))
  return inSchema(server, schema)
}

/** Ends every connection to this database, as an administrator may, and waits until they are gone. */
export async function endConnections(url: string): Promise<void> {
  const name = new URL(url).searchParams.get('application_name')
  const others = `application_name = '${name}' and pid <> pg_backend_pid()`
  await ask(url, `select pg_terminate_backend(pid, 5000) from pg_stat_activity where ${others}`)
}

/** Ends the connections on which news of this database are heard, and no others. */
export async function endListening(url: string): Promise<void> {
  const name = new URL(url).searchParams.get('application_name')
  const listening = `application_name = '${name}' and query ilike 'listen %'`
  await ask(url, `select pg_terminate_backend(pid, 5000) from pg_stat_activity where ${listening}`)
}

/** The same database with this schema in front, and the schema as the name of its sessions. */
export function inSchema(url: string, schema: string): string {
  const address = new URL(url)
  address.searchParams.set('application_name', schema)
  address.searchParams.set('options', `-csearch_path=${schema}`)
  return address.href
}

/** Asks the database something, as an administrator would. */
export async function ask(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

import { text } from 'node:stream/consumers'
import type { SqlRow, Statement } from '../storage-sql/index.ts'
import { openConnection } from './connection.ts'
import { toFault } from './fault.ts'
import type { Fault } from './protocol.ts'

// A process that asks one question of one file and ends. It can be ended while SQLite is at work: to end a thread there
// takes the whole process with it, because the driver throws where it cannot be caught.

/** What it is told on its standard input. */
export interface Question extends Statement {
  readonly file: string
}

/** What it says on its standard output. */
export type Reply = { readonly rows: readonly SqlRow[] } | { readonly fault: Fault }

export async function answerOnce(): Promise<void> {
  const question = JSON.parse(await text(process.stdin)) as Question
  process.stdout.write(JSON.stringify(reply(question), asJson))
}

function reply({ file, sql, parameters }: Question): Reply {
  try {
    const connection = openConnection({ file, readOnly: true })
    const rows = connection.read({ sql, parameters })
    connection.close()
    return { rows }
  } catch (error) {
    return { fault: toFault(error) }
  }
}

/** Bytes have no form of their own in JSON. */
function asJson(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? `x'${Buffer.from(value).toString('hex')}'` : value
}

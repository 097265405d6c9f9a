import { text } from 'node:stream/consumers'
import type { SqlRow, Statement } from '../storage-sql/index.ts'
import { openConnection } from './connection.ts'
import type { Fault } from './protocol.ts'
import { toFault } from './protocol.ts'

// A process that answers one query and exits. It can be killed while SQLite works; terminating a thread there would crash the
// whole process, because the driver throws where nothing can catch it.

/** The query on standard input. */
export interface Question extends Statement {
  readonly file: string
}

/** The answer on standard output. */
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

/** JSON has no bytes. */
function asJson(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? `x'${Buffer.from(value).toString('hex')}'` : value
}

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { vi } from 'vitest'
import type { RunningProduct } from '../support/running-product.ts'
import type { Script } from '../support/script.ts'

/** What a person makes of a call that waits. */
export type Decision = 'allow' | 'deny'

export interface Following {
  /** As the agent offers them. */
  readonly tools: { readonly pay: string; readonly status: string }
  /** Who is paid. */
  readonly to: string
  /** Told once, when the model has read that its call waits. */
  onWaiting(operation: string): Promise<void>
}

/** A script that pays somebody and, when it is answered with a handle, asks what became of that until it is over. */
export function payAndFollow({ tools, to, onWaiting }: Following): Script {
  let operation: string | undefined
  return async ({ outputs }) => {
    const last = outputs.at(-1)
    if (last === undefined) return { tool: tools.pay, input: { to, cents: 500 } }
    if (!isWaiting(last)) return undefined
    if (operation === undefined) {
      operation = /op_[\w-]+/.exec(last)?.[0] ?? 'none'
      await onWaiting(operation)
    }
    return { tool: tools.status, input: { operationId: operation } }
  }
}

/** Some agents hand the model an answer's text, some its structure, and some quote it once more. */
function isWaiting(output: string): boolean {
  return /"status":"waiting"|"state":"(waitingForApproval|queued|leased)"/.test(output.replaceAll(/[\\\s]/g, ''))
}

/** A person answers on the command line. */
export async function decide(product: RunningProduct, operation: string, decision: Decision): Promise<void> {
  await product.run('approvals', decision, operation, ...(decision === 'allow' ? ['--yes'] : []))
}

/** A person answers the one call that waits for this payee, as soon as there is one. */
export async function decideOnceAsked(product: RunningProduct, to: string, decision: Decision): Promise<void> {
  const find = async () =>
    (await product.control.approvals({})).find(({ asks }) => asks.some(({ scope }) => scope === to))
  const asked = await vi.waitUntil(find, { timeout: 300_000, interval: 50 })
  await decide(product, asked.id, decision)
}

/** What the book says was paid to somebody. */
export async function paidTo({ folder }: RunningProduct, to: string): Promise<string[]> {
  const book = await readFile(join(folder, 'paid.txt'), 'utf8').catch(() => '')
  return book.split('\n').filter(line => line.startsWith(`${to} `))
}

import type { ConsentAsk } from '../../contracts/index.ts'
import { escapeLine, toVisibleJson, toVisibleJsonText } from './escape.ts'
import { paragraph } from './layout.ts'
import type { Printer } from './printer.ts'

/** One thing that a person is asked to allow; of an older server without what it is about. */
export type ShownAsk = Pick<ConsentAsk, 'operation' | 'reason' | 'weight'> &
  Partial<Pick<ConsentAsk, 'scope' | 'grantable'>>

export interface ConsentQuestion {
  /** Who wants what; escaped already. */
  readonly title: string
  readonly asks: readonly ShownAsk[]
  /** The arguments, whole. */
  readonly input: unknown
}

/** Everything that a person must see before they decide. */
export function consentText({ title, asks, input }: ConsentQuestion, printer: Printer): string {
  return [
    `${title}\n`,
    ...asks.map(ask => askText(ask, printer)),
    input === undefined
      ? 'Its arguments are forgotten.\n'
      : `Its arguments, exactly (· is a space, escapes are characters that cannot be seen):\n${toVisibleJson(input, '  ')}\n`,
  ].join('')
}

/** How heavy it is, in its colour. */
export const WEIGHT_STYLES = { low: 'green', moderate: 'yellow', high: 'red' } as const

/** A resource as a text in quotes, with everything in it that cannot be seen. */
export function scopeText(scope: string): string {
  return toVisibleJsonText(scope, { pretty: false })
}

function askText({ operation, weight, reason, scope, grantable }: ShownAsk, printer: Printer): string {
  const { paint } = printer
  const about = typeof scope === 'string' ? ` for ${scopeText(scope)}` : ''
  const only = grantable === 'once' ? ', for this call only' : ''
  const head = `  ${paint.bold(escapeLine(operation))} (${paint[WEIGHT_STYLES[weight]](weight)})${about}${only}\n`
  return `${head}${paragraph(reason, printer, '    ')}`
}

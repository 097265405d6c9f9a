import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { SETTINGS } from '../../src/contracts/index.ts'
import { readPage, tableBelow } from './pages.ts'

const page = readPage('docs/reference/settings.md')
const rows = tableBelow(page, '# Settings')

describe('docs/reference/settings.md', () => {
  it('has a row for every setting, and no other, each with its default, range, variable and reason', () => {
    expect(rows).toEqual(Object.entries(SETTINGS).map(([name, setting]) => rowOf(name, setting)))
  })

  it('keeps the defaults that people count on', () => {
    const defaults = Object.fromEntries(rows.map(([name = '', value = '']) => [bare(name), bare(value)]))
    expect(defaults).toMatchObject({
      probeTimeoutMs: '2000',
      recheckCooldownSeconds: '30',
      recheckAfterThrowSeconds: '1',
      unknownsUntilDown: '3',
      recoveringSeconds: '10',
      callTimeoutSeconds: '30',
      restartWaitSeconds: '10',
      nestedCallDepth: '8',
      watchFiles: 'true',
    })
  })

  it('names the variables that override the file', () => {
    expect(rows.flatMap(([, , , variable = '']) => (variable === '' ? [] : [bare(variable)]))).toEqual([
      'QUARTERMASTER_RECHECK_COOLDOWN_SECONDS',
      'QUARTERMASTER_DRAIN_SECONDS',
      'QUARTERMASTER_MCP_DIRECT_CALLS',
      'QUARTERMASTER_LOG_LEVEL',
    ])
  })
})

interface Setting {
  readonly schema: z.ZodType
  readonly default: unknown
  readonly env?: string
  readonly reason: string
}

function rowOf(name: string, { schema, default: value, env, reason }: Setting): string[] {
  return [code(name), code(value), allowedBy(schema), env === undefined ? '' : code(env), reason]
}

function allowedBy(schema: z.ZodType): string {
  const { type, enum: words, minimum, maximum } = z.toJSONSchema(schema)
  if (type === 'boolean') return '`true`, `false`'
  if (words) return words.map(code).join(', ')
  return `${minimum} to ${maximum}${type === 'integer' ? ', whole' : ''}`
}

function code(value: unknown): string {
  return `\`${String(value)}\``
}

function bare(cell: string): string {
  return cell.replaceAll('`', '')
}

import { z } from 'zod'
import {
  DEFAULT_SETTINGS,
  type JsonSchema,
  type Problem,
  SETTINGS,
  type Settings,
  type SettingsInput,
} from '../../contracts/index.ts'
import { expectation } from './expectation.ts'
import type { Environment } from './references.ts'

/** The defaults, overlaid with the configuration file's settings and then with the environment's. */
export function readSettings(input: SettingsInput, env: Environment): { settings: Settings; problems: Problem[] } {
  const settings: Record<string, unknown> = { ...DEFAULT_SETTINGS, ...input }
  const problems: Problem[] = []
  for (const [key, { variable, schema }] of overrides()) {
    const text = env[variable]
    // `VARIABLE= command` is how a shell takes one back for a single command.
    if (text === undefined || text === '') continue
    const described = z.toJSONSchema(schema) as JsonSchema
    const parsed = schema.safeParse(fromText(text, described))
    if (parsed.success) settings[key] = parsed.data
    else problems.push(badVariable(variable, described))
  }
  return { settings: settings as unknown as Settings, problems }
}

function overrides(): [string, { variable: string; schema: z.ZodType }][] {
  return Object.entries(SETTINGS).flatMap(([key, row]) =>
    'env' in row ? [[key, { variable: row.env, schema: row.schema }]] : [],
  )
}

function fromText(text: string, schema: JsonSchema): unknown {
  if (schema['type'] === 'number' || schema['type'] === 'integer') return text.trim() === '' ? Number.NaN : Number(text)
  if (schema['type'] === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  return text
}

function badVariable(variable: string, schema: JsonSchema): Problem {
  return {
    severity: 'error',
    code: 'CONFIG_INVALID',
    where: 'environment',
    field: variable,
    message: `The environment variable "${variable}" must be ${expectation(schema)}.`,
    fix: 'Correct it, or unset it.',
  }
}

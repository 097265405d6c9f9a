import { z } from 'zod'
import {
  AppError,
  DEFAULT_SETTINGS,
  type JsonSchema,
  type Problem,
  ProjectConfig,
  SETTINGS,
  type Settings,
  type SettingsInput,
} from '../../contracts/index.ts'
import type { Secrets } from '../../core/catalogue/index.ts'
import { expectation, type Fault, problemsError, toProblem } from './faults.ts'
import { parseDocument } from './json-document.ts'
import type { Environment } from './references.ts'
import { checkDocument } from './schema-faults.ts'
import { readSecrets, secretsFileIn } from './secrets-file.ts'
import { readText } from './text-file.ts'
import { readUpstreams, type UpstreamsRead, withoutUpstreams } from './upstream-entries.ts'

export interface ProjectConfigRead {
  config: ProjectConfig
  settings: Settings
  /** Warnings, and what is wrong with single upstreams; other errors are thrown. */
  problems: Problem[]
  secrets: Secrets
  upstreams: UpstreamsRead
}

/** Reads configuration, secrets and settings. Throws `CONFIG_INVALID` with every problem there is. */
export async function readProjectConfig(options: {
  configFile?: string
  dataDir: string
  env: Environment
}): Promise<ProjectConfigRead> {
  const { configFile = 'configuration', env } = options
  const document = parseDocument(options.configFile === undefined ? '{}' : await readConfigText(options.configFile))
  const inConfig = (fault: Fault) => toProblem(fault, { file: configFile, text: document.text, code: 'CONFIG_INVALID' })
  if (document.value === undefined) throw invalid(document.faults.map(inConfig))
  const { secrets, problems: ofSecrets } = await readSecrets(secretsFileIn(options.dataDir))
  const { value: config, faults } = checkDocument(withoutUpstreams(document), ProjectConfig, { env, secrets })
  const { settings, problems: ofSettings } = readSettings(config?.settings ?? {}, env)
  const problems = [...faults.map(inConfig), ...ofSecrets, ...ofSettings]
  if (!config || !secrets || problems.some(problem => problem.severity === 'error')) throw invalid(problems)
  const { upstreams, problems: ofUpstreams } = readUpstreams(document, { env, secrets, file: configFile })
  const mcpServers = Object.fromEntries(upstreams.configs)
  return { config: { ...config, mcpServers }, settings, problems: [...problems, ...ofUpstreams], secrets, upstreams }
}

async function readConfigText(file: string): Promise<string> {
  const read = await readText(file)
  if (read.kind === 'text') return read.text
  if (read.kind === 'fault')
    throw invalid([{ severity: 'error', code: 'CONFIG_INVALID', where: file, message: read.message, fix: read.fix }])
  throw new AppError(
    'CONFIG_INVALID',
    `There is no configuration file ${file}. Check the path, or run "quartermaster init" to make one.`,
  )
}

function invalid(problems: readonly Problem[]): AppError {
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`
  return problemsError('CONFIG_INVALID', `The configuration has ${count}:`, problems)
}

/** The defaults, overlaid with the configuration file's settings and then with the environment's. */
function readSettings(input: SettingsInput, env: Environment): { settings: Settings; problems: Problem[] } {
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

import { dirname, join, resolve } from 'node:path'
import { AppError, type Problem, ProjectConfig, type Settings } from '../../contracts/index.ts'
import type { Secrets } from '../../core/catalogue/index.ts'
import { checkDocument } from './checked-document.ts'
import { type Fault, problemsError, toProblem } from './fault.ts'
import { type JsonDocument, offsetOf, parseDocument } from './json-document.ts'
import { type Environment, resolveReferences } from './references.ts'
import { readSecrets, type SecretsRead } from './secrets-file.ts'
import { readSettings } from './settings.ts'
import { readText } from './text-file.ts'

export interface ProjectConfigRead {
  config: ProjectConfig
  settings: Settings
  /** Warnings; errors are thrown. */
  problems: Problem[]
  secrets: Secrets
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
  const { secrets, problems: ofSecrets, faults: ofPlace } = await secretsOf(document, options)
  const { value: config, faults } = checkDocument(document, ProjectConfig, { env, secrets })
  const { settings, problems: ofSettings } = readSettings(config?.settings ?? {}, env)
  const problems = [...[...ofPlace, ...faults].map(inConfig), ...ofSecrets, ...ofSettings]
  if (!config || !secrets || problems.some(problem => problem.severity === 'error')) throw invalid(problems)
  return { config, settings, problems, secrets }
}

async function readConfigText(file: string): Promise<string> {
  const read = await readText(file)
  if (read.kind === 'text') return read.text
  if (read.kind === 'fault')
    throw invalid([{ severity: 'error', code: 'CONFIG_INVALID', where: file, message: read.message, mend: read.mend }])
  throw new AppError(
    'CONFIG_INVALID',
    `There is no configuration file ${file}. Check the path, or run "quartermaster init" to make one.`,
  )
}

function invalid(problems: readonly Problem[]): AppError {
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`
  return problemsError('CONFIG_INVALID', `The configuration has ${count}:`, problems)
}

type SecretsOptions = { configFile?: string; dataDir: string; env: Environment }

/** The secrets file's name is needed before there are secrets, so it is made out by itself and cannot refer to one. */
async function secretsOf(document: JsonDocument, options: SecretsOptions): Promise<SecretsRead & { faults: Fault[] }> {
  const given = secretsFileIn(document.value)
  if (given === undefined) return { ...(await readSecrets(join(options.dataDir, 'secrets.json'))), faults: [] }
  const none = { get: () => undefined }
  const { value, faults } = resolveReferences(given, { env: options.env, secrets: none })
  if (faults.length === 0)
    return { ...(await readSecrets(resolve(dirname(options.configFile ?? ''), String(value)))), faults: [] }
  // An unset variable is told with the rest of the document; only the circle has to be told here.
  return { secrets: undefined, problems: [], faults: given.includes('${secret:') ? [circle(document)] : [] }
}

function secretsFileIn(value: unknown): string | undefined {
  const given = typeof value === 'object' && value !== null && 'secretsFile' in value ? value.secretsFile : undefined
  return typeof given === 'string' && given !== '' ? given : undefined
}

function circle(document: JsonDocument): Fault {
  const path = ['secretsFile']
  const message = 'The name of the secrets file cannot itself be a secret.'
  return { offset: offsetOf(document, path), path, message, mend: 'Write the name, or use ${env:NAME}.' }
}

import { AppError, type Problem, ProjectConfig, type Settings } from '../../contracts/index.ts'
import type { Secrets } from '../../core/catalogue/index.ts'
import { checkDocument } from './checked-document.ts'
import { type Fault, problemsError, toProblem } from './fault.ts'
import { parseDocument } from './json-document.ts'
import type { Environment } from './references.ts'
import { readSecrets, secretsFileIn } from './secrets-file.ts'
import { readSettings } from './settings.ts'
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

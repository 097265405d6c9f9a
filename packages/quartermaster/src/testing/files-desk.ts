import { mkdir } from 'node:fs/promises'
import { FilesSettings, toFilesConfig } from '../capabilities/files/config.ts'
import { createListFiles } from '../capabilities/files/list-files.ts'
import { createReadFile } from '../capabilities/files/read-file.ts'
import { createWalls } from '../capabilities/files/sandbox.ts'
import { createSearchFiles } from '../capabilities/files/search-files.ts'
import { createWriteFile } from '../capabilities/files/write-file.ts'
import { AppError, type ToolResult } from '../contracts/index.ts'
import type { AnyTool, CallContext, DescribedSchema } from '../core/catalogue/index.ts'
import { collectedLog } from './collected-log.ts'
import { type TempProject, tempProject } from './temp-project.ts'

/** What a file tool said, in the parts that tests look at. */
export interface Said {
  readonly ok: boolean
  readonly text: string
  readonly data: Record<string, unknown>
  readonly result: ToolResult
}

/** An agent's desk: a project in a temporary folder, and the file tools over some of its folders. */
export interface FilesDesk {
  readonly project: TempProject
  read(input: object, context?: Partial<CallContext>): Promise<Said>
  list(input?: object, context?: Partial<CallContext>): Promise<Said>
  search(input: object, context?: Partial<CallContext>): Promise<Said>
  write(input: object, context?: Partial<CallContext>): Promise<Said>
}

export interface DeskOptions {
  files?: Record<string, unknown>
  dirs?: string[]
  maxFileBytes?: number
  editProject?: boolean
  walk?: 'handles' | 'paths'
  /** Relative to the project; made before the test begins unless `noData`. */
  dataDir?: string
  /** The configuration file, where it has another name than usual. */
  configFile?: string
  noData?: boolean
}

export async function filesDesk(options: DeskOptions = {}): Promise<FilesDesk> {
  const { files = {}, dirs = ['./work'], maxFileBytes, editProject, walk } = options
  const { dataDir = '.quartermaster', noData = false } = options
  const project = await tempProject(files)
  await mkdir(project.path('work'), { recursive: true })
  if (!noData) await project.write(`${dataDir}/admin.token`, 'TOP-SECRET')
  const paths = {
    projectDir: project.dir,
    dataDir: project.path(dataDir),
    configFile: options.configFile === undefined ? undefined : project.path(options.configFile),
  }
  const walls = createWalls({ paths, ...(walk && { walk }) })
  const settings = FilesSettings.parse({ dirs, editProject, ...(maxFileBytes && { maxFileBytes }) })
  const config = toFilesConfig(settings, project.dir)
  const caller = (tool: AnyTool) => (input?: object, context?: Partial<CallContext>) =>
    callTool(tool, input ?? {}, { ...plainContext(config), ...context })
  return {
    project,
    read: caller(createReadFile(walls)),
    list: caller(createListFiles(walls)),
    search: caller(createSearchFiles(walls)),
    write: caller(createWriteFile(walls)),
  }
}

function plainContext(config: unknown): CallContext {
  const nobody = async () => {
    throw new AppError('ANSWER_UNAVAILABLE', 'Nobody answers in a test.')
  }
  return {
    caller: { kind: 'agent', name: 'tester', workspace: 'tester' },
    client: 'client_1',
    config,
    signal: new AbortController().signal,
    deadline: Date.now() + 30_000,
    operationId: 'op_1',
    idempotencyKey: 'key_1',
    progress: () => {},
    ask: nobody,
    canAnswer: () => false,
    call: nobody,
    missingEffects: [],
    log: collectedLog().log,
  }
}

async function callTool(tool: AnyTool, input: object, context: CallContext): Promise<Said> {
  const checked = await check(tool.input, input)
  const result = (await tool.handler(checked as never, context as never)) as ToolResult
  if (!result.isError) await check(tool.output, result.structuredContent)
  const texts = result.content.flatMap(block => (block.type === 'text' ? [block.text] : []))
  return {
    ok: !result.isError,
    text: texts.join('\n'),
    data: (result.structuredContent ?? {}) as Record<string, unknown>,
    result,
  }
}

async function check(schema: unknown, value: unknown): Promise<unknown> {
  const checked = await (schema as DescribedSchema)['~standard'].validate(value)
  if (checked.issues) throw new AppError('INPUT_INVALID', JSON.stringify(checked.issues))
  return checked.value
}

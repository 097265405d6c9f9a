import { mkdir } from 'node:fs/promises'
import { FILES_WORDS, FilesSettings, toFilesConfig } from '../capabilities/files/config.ts'
import { createListFiles } from '../capabilities/files/list-files.ts'
import { createReadFile } from '../capabilities/files/read-file.ts'
import { createSearchFiles } from '../capabilities/files/search-files.ts'
import { createWriteFile } from '../capabilities/files/write-file.ts'
import { createWalls } from '../capabilities/shared/walls/sandbox.ts'
import type { AnyTool, CallContext } from '../core/catalogue/index.ts'
import { type TempProject, tempProject } from './temp-project.ts'
import { callTool, plainContext, type Said } from './tool-fixture.ts'

export type { Said } from './tool-fixture.ts'

/** An agent's files: a project in a temporary folder, and the file tools over some of its folders. */
export interface FilesFixture {
  readonly project: TempProject
  read(input: object, context?: Partial<CallContext>): Promise<Said>
  list(input?: object, context?: Partial<CallContext>): Promise<Said>
  search(input: object, context?: Partial<CallContext>): Promise<Said>
  write(input: object, context?: Partial<CallContext>): Promise<Said>
}

export interface FixtureOptions {
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

export async function filesFixture(options: FixtureOptions = {}): Promise<FilesFixture> {
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
  const walls = createWalls({ paths, words: FILES_WORDS, ...(walk && { walk }) })
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

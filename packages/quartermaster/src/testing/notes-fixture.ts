import { mkdir, readFile } from 'node:fs/promises'
import { NOTES_WORDS, NotesSettings, toNotesConfig } from '../capabilities/notes/config.ts'
import { createNoteAppend } from '../capabilities/notes/note-append.ts'
import { createNoteRead } from '../capabilities/notes/note-read.ts'
import { createNoteSearch } from '../capabilities/notes/note-search.ts'
import { createObsidian, type Obsidian } from '../capabilities/notes/obsidian.ts'
import { createTaskComplete, createTaskUpdate } from '../capabilities/notes/task-changes.ts'
import { createTaskCreate } from '../capabilities/notes/task-create.ts'
import { createTaskList } from '../capabilities/notes/task-list.ts'
import { createVaults } from '../capabilities/notes/vault.ts'
import { createWalls } from '../capabilities/shared/walls/sandbox.ts'
import type { AnyTool, CallContext } from '../core/catalogue/index.ts'
import { type TempProject, tempProject } from './temp-project.ts'
import { callTool, plainContext, type Said } from './tool-fixture.ts'

type Call = (input?: object, context?: Partial<CallContext>) => Promise<Said>

/** An agent's notes: a vault in a temporary project, and the tools for notes over it. */
export interface NotesFixture {
  readonly project: TempProject
  readonly obsidian: Obsidian
  /** The day on which all of it takes place. */
  readonly today: string
  /** A note as it is on disk. */
  note(path: string): Promise<string>
  read: Call
  search: Call
  append: Call
  create: Call
  update: Call
  complete: Call
  list: Call
}

export interface NotesFixtureOptions {
  /** Files by their path in the project; the vault is the folder `vault`. */
  files?: Record<string, unknown>
  /** A project that is there already, in place of a new one with these files. */
  project?: TempProject
  /** What the agent's file says beside `vault`. */
  settings?: object
  secrets?: Record<string, string>
  isOptedOut?(): boolean
  now?(): number
}

export async function notesFixture(options: NotesFixtureOptions = {}): Promise<NotesFixture> {
  const { files = {}, settings = {}, secrets = {}, isOptedOut = () => false, now } = options
  const project = options.project ?? (await tempProject(files))
  await mkdir(project.path('vault'), { recursive: true })
  await project.write('.quartermaster/admin.token', 'TOP-SECRET')
  const paths = { projectDir: project.dir, dataDir: project.path('.quartermaster') }
  const config = toNotesConfig(NotesSettings.parse({ vault: './vault', ...settings }), project.dir)
  const obsidian = createObsidian({ secrets: { get: name => secrets[name] }, isOptedOut, ...(now && { now }) })
  obsidian.use('tester', config)
  const vaults = createVaults(createWalls({ paths, words: NOTES_WORDS }), obsidian)
  const day = () => new Date(2026, 10, 15, 12)
  const caller =
    (tool: AnyTool): Call =>
    (input = {}, context = {}) =>
      callTool(tool, input, { ...plainContext(config), ...context })
  return {
    project,
    obsidian,
    today: '2026-11-15',
    note: path => readFile(project.path(`vault/${path}`), 'utf8'),
    read: caller(createNoteRead(vaults)),
    search: caller(createNoteSearch(vaults)),
    append: caller(createNoteAppend(vaults)),
    create: caller(createTaskCreate(vaults, day)),
    update: caller(createTaskUpdate(vaults, day)),
    complete: caller(createTaskComplete(vaults, day)),
    list: caller(createTaskList(vaults)),
  }
}

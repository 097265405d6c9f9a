import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, vi } from 'vitest'
import type { Problem } from '../../../contracts/index.ts'
import type { Services, SourceUnit } from '../../../core/catalogue/index.ts'
import { type ClosableSource, createProjectSource, type ProjectSourceOptions } from '../index.ts'

/** A project folder of its own for each test, with everything for temporary files beside it. */
interface CapabilityProject {
  path(name: string): string
  /** Where the process puts temporary files during the test. */
  temporary(): string
  /** Writes a file of the project and says where it is. */
  write(name: string, text: string): Promise<string>
  /** A source over its `capabilities/`, closed after the test. */
  open(options?: Partial<ProjectSourceOptions>): Promise<ClosableSource>
}

export const SERVICES: Partial<Services> = {
  paths: { projectDir: '/project', dataDir: '/data' },
  secrets: { get: () => undefined },
}
const LOG = { debug() {}, info() {}, warn() {}, error() {} }

export function useCapabilityProject(): CapabilityProject {
  let home = ''
  const sources: ClosableSource[] = []
  const path = (name: string) => join(home, 'project', name)
  const temporary = () => join(home, 'temporary')

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'capabilities-test-'))
    await Promise.all([mkdir(path('capabilities'), { recursive: true }), mkdir(temporary())])
    vi.stubEnv('TMPDIR', temporary())
  })
  afterEach(async () => {
    await Promise.all(sources.splice(0).map(source => source.close()))
    vi.unstubAllEnvs()
    await rm(home, { recursive: true, force: true })
  })

  return {
    path,
    temporary,
    async write(name, text) {
      await mkdir(dirname(path(name)), { recursive: true })
      await writeFile(path(name), text)
      return path(name)
    },
    async open(options = {}) {
      const base = { dir: path('capabilities'), services: SERVICES, watch: false, log: LOG }
      const source = createProjectSource({ ...base, packageEntries: await packageEntries(home), ...options })
      sources.push(source)
      return source
    },
  }
}

/** A capability whose one tool answers with an expression. */
export function capability(answer: string, { head = '', key = 'weather' } = {}): string {
  return `${head}
import { defineCapability, defineTool } from 'quartermaster'
const tool = defineTool({ name: '${key}_tool', short: 'Answers.', input: { type: 'object' }, handler: () => ${answer} })
export default defineCapability({ key: '${key}', short: 'Answers.', tools: [tool] })
`
}

export function load(source: ClosableSource): Promise<readonly SourceUnit[]> {
  return source.load(new AbortController().signal)
}

/** The only unit of a load. */
export async function only(source: ClosableSource): Promise<SourceUnit> {
  const units = await load(source)
  expect(units).toHaveLength(1)
  return units[0] as SourceUnit
}

export function problems(unit: SourceUnit | undefined): readonly Problem[] {
  return unit && 'broken' in unit ? unit.broken : []
}

/** What the tool of a unit answers. */
export function answer(unit: SourceUnit | undefined): unknown {
  if (!unit || 'broken' in unit) throw new Error(JSON.stringify(problems(unit)))
  return unit.definitions.capabilities[0]?.tools[0]?.handler(undefined as never, undefined as never)
}

/** The package as project code sees it, made of the parts that the tests themselves use. */
async function packageEntries(home: string): Promise<Record<string, string>> {
  const parts = ['../../../core/catalogue/index.ts', '../../../contracts/index.ts']
  const index = join(home, 'package.mjs')
  await writeFile(
    index,
    parts.map(path => `export * from ${JSON.stringify(new URL(path, import.meta.url).href)}`).join('\n'),
  )
  return { quartermaster: pathToFileURL(index).href, 'quartermaster/probes': pathToFileURL(index).href }
}

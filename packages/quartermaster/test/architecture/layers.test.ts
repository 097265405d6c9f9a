import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { findViolations } from './layers.ts'
import { readSources } from './sources.ts'

/** A small tree that breaks nothing: every test plants one violation in it. */
const SOUND = {
  'index.ts': "export * from './contracts/index.ts'; export { up } from './app/up.ts'",
  'contracts/index.ts': "export * from './names.ts'",
  'contracts/names.ts': "import { z } from 'zod'; export const Name = z.string()",
  'core/kernel/index.ts': 'export interface Clock { now(): number }',
  'core/health/index.ts': "export { recheck } from './recheck.ts'",
  'core/health/recheck.ts':
    "import type { Clock } from '../kernel/index.ts'; import { Name } from '../../contracts/index.ts'; export const recheck = (c: Clock) => Name",
  'core/agents/index.ts': "import { recheck } from '../health/index.ts'; export const view = recheck",
  'adapters/http/index.ts':
    "import { createServer } from 'node:http'; import { Hono } from 'hono'; import { recheck } from '../../core/health/index.ts'; export const serve = [createServer, Hono, recheck]",
  'adapters/cli/index.ts': "import { Name } from '../../contracts/index.ts'; export const run = Name",
  'adapters/modules/index.ts': 'export const load = (url: string) => import(url)',
  'adapters/storage-sql/index.ts': 'export const sql = 1',
  'adapters/storage-sqlite/index.ts': "import { sql } from '../storage-sql/index.ts'; export const open = sql",
  'adapters/mcp-wire/index.ts': 'export const line = 1',
  'adapters/mcp-bridge/index.ts': "import { line } from '../mcp-wire/index.ts'; export const bridge = line",
  'adapters/mcp-upstream/index.ts': "import { line } from '../mcp-wire/index.ts'; export const upstream = line",
  'capabilities/files/index.ts':
    "import { readFile } from 'node:fs/promises'; import { recheck } from '../../core/health/index.ts'; import { path } from './path.ts'; export default [readFile, recheck, path]",
  'capabilities/files/path.ts': "export const path = '.'",
  'capabilities/shared/walls.ts': 'export const walls = 4',
  'app/up.ts':
    "import { serve } from '../adapters/http/index.ts'; import { view } from '../core/agents/index.ts'; export const up = [serve, view]",
  'bin/quartermaster.ts':
    "import process from 'node:process'; import { run } from '../adapters/cli/index.ts'; import { up } from '../app/up.ts'; process.exitCode = Number(run && up)",
  'testing/fake-clock.ts': "import { clearTimeout } from 'node:timers'; export const fake = clearTimeout",
  'core/health/recheck.test.ts': "import { fake } from '../../testing/fake-clock.ts'; import 'node:fs'; fake",
}

const violationsWith = (planted: Record<string, string>) =>
  findViolations(new Map(Object.entries({ ...SOUND, ...planted })))

describe('the sources', () => {
  it('keep to the layers', () => {
    const sources = readSources(fileURLToPath(new URL('../../src', import.meta.url)))
    expect(sources.size).toBeGreaterThan(0)
    expect(findViolations(sources)).toEqual([])
  })
})

describe('the layers', () => {
  it('find nothing wrong with a sound tree', () => {
    expect(violationsWith({})).toEqual([])
  })

  it.each([
    ['a static import', "import { readFileSync } from 'node:fs'"],
    ['an import for its side effects', "import 'node:fs'"],
    ['an import of a type', "import type { Stats } from 'node:fs'"],
    ['an inline type import', "import { type Stats } from 'node:fs'"],
    ['a dynamic import', "export const load = () => import('node:fs')"],
    ['a dynamic import in backticks', 'export const load = () => import(`node:fs`)'],
    ['a named re-export', "export { readFileSync } from 'node:fs'"],
    ['a re-export of everything', "export * from 'node:fs'"],
    ['a re-export of types', "export type * from 'node:fs'"],
    ['an import() type', "export type Stats = import('node:fs').Stats"],
    ['typeof import()', "export type Fs = typeof import('node:fs')"],
    ['import = require', "import fs = require('node:fs')"],
    ['require', "export const fs = require('node:fs')"],
    ['getBuiltinModule', "export const fs = process.getBuiltinModule('node:fs')"],
  ])('keep Node builtins out of core: %s', (_way, code) => {
    expect(violationsWith({ 'core/health/x.ts': code })).toEqual([
      'core/health/x.ts imports node:fs: core uses no Node builtins',
    ])
  })

  it('are not switched off by a comment, and want none that tries', () => {
    const code =
      "// oxlint-disable-next-line import/no-nodejs-modules\n// @ts-ignore\n/* eslint-disable */ import 'node:fs'"
    expect(violationsWith({ 'core/health/x.ts': code })).toEqual([
      'core/health/x.ts says oxlint-disable-next-line: no comment switches a check off',
      'core/health/x.ts says @ts-ignore: no comment switches a check off',
      'core/health/x.ts says eslint-disable: no comment switches a check off',
      'core/health/x.ts imports node:fs: core uses no Node builtins',
    ])
  })

  it('know a builtin without its prefix', () => {
    expect(violationsWith({ 'core/health/x.ts': "import 'fs'; import 'fs/promises'" })).toEqual([
      'core/health/x.ts imports fs: core uses no Node builtins',
      'core/health/x.ts imports fs/promises: core uses no Node builtins',
    ])
  })

  it('leave imports in comments and texts alone', () => {
    const code = "// import 'node:fs'\nexport const text = \"import 'node:fs'\""
    expect(violationsWith({ 'core/health/x.ts': code })).toEqual([])
  })

  it.each([
    [
      'core/health/x.ts',
      'hono',
      'core uses no packages but zod, @standard-schema/spec, shell-quote, mdast-util-from-markdown',
    ],
    [
      'core/health/x.ts',
      '@scope/name/deep',
      'core uses no packages but zod, @standard-schema/spec, shell-quote, mdast-util-from-markdown',
    ],
    ['contracts/x.ts', '@standard-schema/spec', 'contracts use no packages but zod'],
    ['contracts/x.ts', 'node:crypto', 'contracts use no Node builtins'],
    ['bin/x.ts', 'commander', 'bin uses no packages'],
    ['probes.ts', 'hono', 'an entry point uses no packages'],
    ['adapters/http/x.ts', 'quartermaster/probes', 'the product does not import itself by name'],
    ['adapters/http/x.ts', '#inside', 'only relative paths, packages and node: are imported'],
    ['adapters/http/x.ts', '/etc/x.ts', 'only relative paths, packages and node: are imported'],
    ['adapters/http/x.ts', 'file:///x.ts', 'only relative paths, packages and node: are imported'],
  ])('say which modules %s may not use: %s', (path, specifier, reason) => {
    expect(violationsWith({ [path]: `import '${specifier}'` })).toEqual([`${path} imports ${specifier}: ${reason}`])
  })

  it.each([
    ['contracts/x.ts', 'core/health/index.ts', 'contracts import only contracts'],
    ['core/health/x.ts', 'adapters/http/index.ts', 'core imports only contracts and core'],
    ['core/health/x.ts', 'app/up.ts', 'core imports only contracts and core'],
    ['core/health/x.ts', 'capabilities/files/index.ts', 'core imports only contracts and core'],
    ['core/health/x.ts', 'index.ts', 'core imports only contracts and core'],
    ['core/agents/x.ts', 'core/health/recheck.ts', 'a context is imported through its index.ts'],
    ['core/health/x.ts', 'contracts/names.ts', 'contracts are imported through contracts/index.ts'],
    ['adapters/http/x.ts', 'core/health/recheck.ts', 'a context is imported through its index.ts'],
    ['adapters/http/x.ts', 'contracts/names.ts', 'contracts are imported through contracts/index.ts'],
    ['adapters/http/x.ts', 'adapters/cli/index.ts', 'adapters never import each other'],
    ['adapters/http/x.ts', 'adapters/storage-sql/index.ts', 'adapters never import each other'],
    ['adapters/storage-sql/x.ts', 'adapters/storage-sqlite/index.ts', 'adapters never import each other'],
    ['adapters/http/x.ts', 'adapters/mcp-wire/index.ts', 'adapters never import each other'],
    ['adapters/mcp-upstream/x.ts', 'adapters/mcp-bridge/index.ts', 'adapters never import each other'],
    ['adapters/http/x.ts', 'app/up.ts', 'an adapter imports only contracts and core'],
    ['adapters/http/x.ts', 'capabilities/files/index.ts', 'an adapter imports only contracts and core'],
    ['adapters/http/x.ts', 'index.ts', 'an adapter imports only contracts and core'],
    ['capabilities/files/x.ts', 'adapters/http/index.ts', 'a capability imports only contracts and core'],
    ['capabilities/files/x.ts', 'core/health/recheck.ts', 'a context is imported through its index.ts'],
    ['capabilities/mail/x.ts', 'capabilities/files/index.ts', 'capabilities never import each other'],
    ['capabilities/shared/x.ts', 'capabilities/files/path.ts', 'what capabilities share imports none of them'],
    ['adapters/http/x.ts', 'capabilities/shared/walls.ts', 'an adapter imports only contracts and core'],
    ['app/x.ts', 'bin/quartermaster.ts', 'app imports everything but bin'],
    ['app/x.ts', 'contracts/names.ts', 'contracts are imported through contracts/index.ts'],
    ['bin/x.ts', 'adapters/http/index.ts', 'bin imports only app and adapters/cli'],
    ['bin/x.ts', 'core/health/index.ts', 'bin imports only app and adapters/cli'],
    ['probes.ts', 'core/health/recheck.ts', 'a context is imported through its index.ts'],
    ['probes.ts', 'capabilities/files/index.ts', 'an entry point passes on contracts, core, adapters and app'],
    ['app/x.ts', 'testing/fake-clock.ts', 'only tests import what is for tests'],
    ['adapters/cli/x.ts', 'adapters/cli/testing/terminal.ts', 'only tests import what is for tests'],
    ['core/health/x.ts', 'core/health/recheck.test.ts', 'only tests import what is for tests'],
    ['adapters/http/x.ts', '../package.json', 'an import stays below src'],
    ['adapters/http/x.ts', 'adapters/http/gone.ts', 'there is no such source file'],
  ])('do not let %s import %s', (path, target, reason) => {
    const up = '../'.repeat(path.split('/').length - 1) || './'
    for (const code of [`import '${up}${target}'`, `export type * from '${up}${target}'`]) {
      expect(violationsWith({ [path]: code })).toEqual([`${path} imports ${target}: ${reason}`])
    }
  })

  it('let only the drivers use the shared part of the stores, and only its face', () => {
    const planted = {
      'adapters/storage-sql/plan.ts': '',
      'adapters/storage-postgres/index.ts': "import '../storage-sql/plan.ts'",
    }
    expect(violationsWith(planted)).toEqual([
      'adapters/storage-postgres/index.ts imports adapters/storage-sql/plan.ts: an adapter is imported through its index.ts',
    ])
  })

  it('allow a computed import only where modules are loaded', () => {
    const reason = 'imports a computed name: only adapters/modules/ may'
    expect(violationsWith({ 'app/x.ts': 'export const load = (name: string) => import(name)' })).toEqual([
      `app/x.ts ${reason}`,
    ])
    expect(violationsWith({ 'app/x.ts': 'export const load = (name: string) => require(`./${name}`)' })).toEqual([
      `app/x.ts ${reason}`,
    ])
  })

  it('want a public face for every context and adapter', () => {
    expect(violationsWith({ 'core/memory/x.ts': '', 'adapters/a2a/x.ts': '' })).toEqual([
      'core/memory has no index.ts: it is its public face',
      'adapters/a2a has no index.ts: it is its public face',
    ])
  })

  it('have a place for every file', () => {
    expect(violationsWith({ 'core/x.ts': '', 'utils/x.ts': '' })).toEqual([
      'core/x.ts stands in no layer: see CONTRIBUTING.md for the folders',
      'utils/x.ts stands in no layer: see CONTRIBUTING.md for the folders',
    ])
  })

  it('report a file that cannot be parsed instead of passing over it', () => {
    expect(violationsWith({ 'core/health/x.ts': 'import {' })).toEqual([
      expect.stringMatching(/^core\/health\/x\.ts cannot be parsed: /),
    ])
  })
})

describe('import cycles', () => {
  it.each([
    ['values', "import { y } from './y.ts'; export const x = y"],
    ['types', "import type { y } from './y.ts'; export type X = typeof y"],
    ['re-exports', "export * from './y.ts'"],
    ['dynamic imports', "export const x = () => import('./y.ts')"],
    ['import() types', "export type X = typeof import('./y.ts')"],
  ])('are found between files: %s', (_way, code) => {
    const planted = {
      'core/health/x.ts': code,
      'core/health/y.ts': "export * from './z.ts'",
      'core/health/z.ts': "import './x.ts'",
    }
    expect(violationsWith(planted)).toEqual([
      'core/health/x.ts imports core/health/y.ts imports core/health/z.ts imports core/health/x.ts: files import each other in a circle',
    ])
  })

  it('are found in a file that imports itself', () => {
    expect(violationsWith({ 'app/x.ts': "import './x.ts'" })).toEqual([
      'app/x.ts imports app/x.ts: files import each other in a circle',
    ])
  })

  it('are told once for each circle', () => {
    const planted = {
      'app/a.ts': "import './b.ts'",
      'app/b.ts': "import './a.ts'",
      'app/c.ts': "import './d.ts'; import './a.ts'",
      'app/d.ts': "import './c.ts'",
    }
    expect(violationsWith(planted)).toEqual([
      'app/a.ts imports app/b.ts imports app/a.ts: files import each other in a circle',
      'app/c.ts imports app/d.ts imports app/c.ts: files import each other in a circle',
    ])
  })

  it.each(['core/health', 'adapters/http'])('are found between the folders of %s', unit => {
    const planted = {
      [`${unit}/look/a.ts`]: "import '../record/b.ts'",
      [`${unit}/record/b.ts`]: 'export const b = 1',
      [`${unit}/record/c.ts`]: "import '../look/d.ts'",
      [`${unit}/look/d.ts`]: 'export const d = 1',
    }
    expect(violationsWith(planted)).toEqual([
      `${unit}/look imports ${unit}/record imports ${unit}/look: folders import each other in a circle`,
    ])
  })

  it('are found between contexts although no file is part of one', () => {
    expect(violationsWith({ 'core/health/x.ts': "import type { view } from '../agents/index.ts'" })).toEqual([
      'core/agents imports core/health imports core/agents: contexts import each other in a circle',
    ])
  })

  it('do not count between tests', () => {
    const planted = { 'app/a.test.ts': "import './b.test.ts'", 'app/b.test.ts': "import './a.test.ts'" }
    expect(violationsWith(planted)).toEqual([])
  })
})

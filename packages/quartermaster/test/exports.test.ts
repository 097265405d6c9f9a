import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import * as main from '../src/index.ts'
import * as probes from '../src/probes.ts'

it('exports from "quartermaster" exactly what others depend on', () => {
  expect(Object.keys(main).sort()).toEqual([
    'AppError',
    'createQuartermaster',
    'defineCapability',
    'defineDependency',
    'defineEffect',
    'defineInjection',
    'defineModule',
    'definePrompt',
    'defineResource',
    'defineTool',
    'isAppError',
    'toolFailure',
    'toolResult',
  ])
})

it('exports from "quartermaster/probes" exactly the ready-made probes', () => {
  expect(Object.keys(probes).sort()).toEqual(['allOf', 'environment', 'http', 'path', 'program', 'secret', 'tcp'])
})

it('has exactly these entry points', () => {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    exports: object
    bin: object
  }
  expect(Object.keys(manifest.exports)).toEqual(['.', './probes', './package.json'])
  expect(Object.keys(manifest.bin)).toEqual(['quartermaster'])
})

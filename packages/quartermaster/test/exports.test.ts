import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import * as ai from '../src/ai.ts'
import * as main from '../src/index.ts'
import * as langchain from '../src/langchain.ts'
import * as openai from '../src/openai.ts'
import * as probes from '../src/probes.ts'
import * as prompt from '../src/prompt.ts'

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
    'openToolbox',
    'registerOp',
    'toolFailure',
    'toolResult',
  ])
})

it('exports from "quartermaster/probes" exactly the ready-made probes', () => {
  expect(Object.keys(probes).sort()).toEqual(['allOf', 'environment', 'http', 'path', 'program', 'secret', 'tcp'])
})

it('exports for each runtime exactly what hands tools to it', () => {
  expect([Object.keys(langchain), Object.keys(ai)]).toEqual([['langchainTools'], ['aiTools']])
  expect(Object.keys(openai).sort()).toEqual([
    'agentTools',
    'answerFunctionCalls',
    'answerToolCalls',
    'chatTools',
    'functionTools',
  ])
})

it('exports from "quartermaster/prompt" exactly what makes one', () => {
  expect(Object.keys(prompt)).toEqual(['renderPrompt'])
})

it('has exactly these entry points', () => {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    exports: object
    bin: object
  }
  expect(Object.keys(manifest.exports)).toEqual([
    '.',
    './probes',
    './langchain',
    './ai',
    './openai',
    './prompt',
    './package.json',
  ])
  expect(manifest.bin).toEqual({ quartermaster: './bin/quartermaster.js' })
})

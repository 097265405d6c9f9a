import { describe, expect, it } from 'vitest'
import { createSchemaCompiler } from '../../adapters/json-schema/index.ts'
import { sha256 } from '../../adapters/system/index.ts'
import { DEFAULT_SETTINGS } from '../../contracts/index.ts'
import { simpleCapability, simpleTool } from '../../testing/hub.ts'
import { runToEnd } from '../kernel/index.ts'
import { checkUnit } from './check-unit.ts'
import { type AnyTool, isOldHash, type SourceKind } from './index.ts'

const input = {
  type: 'object',
  properties: {
    title: { type: 'string', title: 'Title', description: 'What it is called.' },
    kind: { enum: [{ description: 'a' }], default: { title: 'b' }, examples: ['c'] },
  },
  required: ['title'],
}
const TOOL = { input: input as never, mutates: true, idempotent: true }
const OPERATIONS = [{ name: 'tools.use', reason: 'It is used.', weight: 'low' }] as const

interface Place {
  readonly kind?: SourceKind
  /** Has the version of the package in it for a built-in capability. */
  readonly unitHash?: string
  readonly sources?: string | undefined
  readonly settings?: object
}

function hashOf(more: Partial<AnyTool> = {}, { kind = 'code', unitHash = '1', settings, ...place }: Place = {}) {
  const tools = [simpleTool('make', { ...TOOL, ...more })]
  const capability = simpleCapability('maker', tools, { consentOperations: [...OPERATIONS] })
  const definitions = { capabilities: [capability], dependencies: [], injections: [] }
  const sources = 'sources' in place ? place.sources : 'as written'
  const unit = { id: 'maker', hash: unitHash, definitions, ...(sources === undefined ? {} : { sources }) }
  const deps = {
    compiler: createSchemaCompiler(),
    digest: sha256,
    settings: { ...DEFAULT_SETTINGS, ...settings },
    effectKinds: new Map([['thing', { check: () => [] }]]),
    ownEffectKind: () => ({ check: () => [] }),
  }
  const checked = runToEnd(checkUnit(unit, { source: 'project', kind }, deps))
  const [tool] = checked.capabilities[0]?.tools ?? []
  expect(checked.problems).toEqual([])
  return tool?.definitionHash ?? ''
}

const schema = (edit: (text: string) => string) => ({ input: JSON.parse(edit(JSON.stringify(input))) })

describe('the hash of a definition', () => {
  it('is pinned, with its version: calls that wait are stored with it', () => {
    expect(hashOf()).toBe('v2:2ef7260aec206804cd60e7fecc7541718368f0fc99662d0588160adad41cd52e')
    expect([hashOf(), sha256('1'), 'v1:a', 'v3:a'].map(isOldHash)).toEqual([false, true, true, false])
  })

  it('does not cover what people and models read', () => {
    const texts: [string, Partial<AnyTool>][] = [
      ['title', { title: 'Maker' }],
      ['short', { short: 'Makes something.' }],
      ['examples', { examples: [{ query: 'Make it.', input: { title: 'a' } }] }],
      ['command', { command: { name: 'build' } }],
      ['a description in the schema', schema(text => text.replace('What it is called.', 'Its name.'))],
      ['examples in the schema', schema(text => text.replace(',"examples":["c"]', ''))],
      [
        'the order of properties',
        schema(text => text.replace('"type":"string","title":"Title"', '"title":"Title","type":"string"')),
      ],
    ]
    expect(texts.filter(([, more]) => hashOf(more) !== hashOf()).map(([what]) => what)).toEqual([])
  })

  it('covers what decides how a call is run', () => {
    const facts: [string, Partial<AnyTool>][] = [
      ['name', { name: 'build' }],
      ['a type', schema(text => text.replace('"type":"string"', '"type":"number"'))],
      [
        'the name of a property that is a word for people',
        schema(text => text.replaceAll('"title":{', '"description":{')),
      ],
      ['a value', schema(text => text.replace('{"description":"a"}', '{"description":"b"}'))],
      ['a default', schema(text => text.replace('{"title":"b"}', '{"title":"c"}'))],
      ['required', schema(text => text.replace('"required":["title"]', '"required":[]'))],
      ['output', { output: { type: 'object' } as never }],
      ['mutates', { mutates: false }],
      ['idempotent', { idempotent: false }],
      ['retry', { retry: 'replay' }],
      ['consent', { consent: ['tools.use'] }],
      ['effects', { effects: [{ name: 'made', kind: 'thing' }] }],
      ['timeoutMs', { timeoutMs: 5_000 }],
      ['maxResultBytes', { maxResultBytes: 2_048 }],
      ['revision', { revision: 2 }],
    ]
    expect(facts.filter(([, more]) => hashOf(more) === hashOf()).map(([what]) => what)).toEqual([])
  })

  it('covers the sources of project code, and of built-in code a number raised by hand, whatever the version', () => {
    expect(hashOf({}, { sources: 'rewritten' })).not.toBe(hashOf())
    const builtin = { kind: 'builtin', sources: undefined } as const
    expect(hashOf({}, { ...builtin, unitHash: '2' })).toBe(hashOf({}, builtin))
    expect(hashOf({ revision: 1 }, builtin)).toBe(hashOf({}, builtin))
    expect(hashOf({ revision: 2 }, builtin)).not.toBe(hashOf({}, builtin))
  })

  it('covers the pin of a tool of a server, and not how its schema is read here', () => {
    const server = { kind: 'upstream', sources: undefined } as const
    const pinned = hashOf({ codeHash: 'pin' }, server)
    expect(hashOf({ codeHash: 'other' }, server)).not.toBe(pinned)
    expect(hashOf({ codeHash: 'pin', input: { type: 'object' } as never }, server)).toBe(pinned)
    expect(hashOf({ codeHash: 'pin', consent: ['tools.use'] }, server)).not.toBe(pinned)
  })

  it('does not cover defaults that settings give', () => {
    expect(hashOf({}, { settings: { callTimeoutSeconds: 5, maxResultBytes: 2_048 } })).toBe(hashOf())
  })
})

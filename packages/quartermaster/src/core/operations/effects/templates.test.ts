import { describe, expect, it } from 'vitest'
import {
  type EffectValues,
  fillTemplate,
  fillValue,
  parseTemplate,
  placeholdersOf,
  unfillable,
} from './effect-kinds.ts'

const VALUES: EffectValues = {
  input: { path: 'a.md', task: { id: 7, done: false }, tags: ['x', 'y'], empty: '', nothing: null, far: Infinity },
  config: { folder: 'vault' },
  operationId: 'op_1',
}
const fill = (text: string) => fillTemplate(parseTemplate(text), VALUES)

describe('a template', () => {
  it.each([
    ['{config.folder}/{input.path}', 'vault/a.md'],
    ['{input.task.id}-{input.task.done}', '7-false'],
    ['{input.tags.1}', 'y'],
    ['[{input.empty}]{operationId}', '[]op_1'],
    ['{{{input.path}}', '{a.md}'],
    ['a } b', 'a } b'],
  ])('"%s" is filled as "%s"', (text, filled) => {
    expect(fill(text)).toBe(filled)
  })

  it('is filled once: a value that looks like a placeholder stays as it is', () => {
    const values = { ...VALUES, input: { path: '{operationId}' } }
    expect(fillTemplate(parseTemplate('{input.path}'), values)).toBe('{operationId}')
  })

  it.each(['{input', '{input}', '{input..a}', '{inputs.a}', '{operationId.a}', '{input.a b}'])(
    '"%s" is refused',
    text => {
      expect(() => parseTemplate(text)).toThrow(expect.objectContaining({ code: 'DEFINITION_INVALID' }))
    },
  )

  it.each([
    ['{input.missing}', 'INPUT_INVALID'],
    ['{input.task}', 'INPUT_INVALID'],
    ['{input.nothing}', 'INPUT_INVALID'],
    ['{input.far}', 'INPUT_INVALID'],
    ['{input.path.length}', 'INPUT_INVALID'],
    ['{input.__proto__}', 'INPUT_INVALID'],
    ['{config.missing}', 'DEFINITION_INVALID'],
  ])('%s without a value of its own is %s, and named', (text, code) => {
    expect(() => fill(text)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(text) as string }),
    )
  })

  it('that is a placeholder and nothing else keeps the type of its value where types count', () => {
    expect(fillValue(parseTemplate('{input.task.id}'), VALUES)).toBe(7)
    expect(fillValue(parseTemplate('{input.task.done}'), VALUES)).toBe(false)
    expect(fillValue(parseTemplate('n{input.task.id}'), VALUES)).toBe('n7')
    expect(fillValue(parseTemplate(''), VALUES)).toBe('')
  })

  it('is read in linear time', () => {
    expect(() => parseTemplate('{'.repeat(1_000_001))).toThrow()
    expect(parseTemplate('{{'.repeat(500_000))).toHaveLength(500_000)
  })
})

describe('a placeholder', () => {
  const schema = {
    type: 'object',
    properties: { path: { type: 'string' }, due: { type: 'string' }, list: { type: 'string', default: 'a' } },
    required: ['path'],
  }
  const problem = (text: string, input: Record<string, unknown> = schema) =>
    placeholdersOf(parseTemplate(text)).map(one => unfillable(one, input))[0]

  it('must be in the input, and always', () => {
    expect(problem('{input.path}')).toBeUndefined()
    expect(problem('{input.list}')).toBeUndefined()
    expect(problem('{input.pth}')).toContain('Did you mean "path"?')
    expect(problem('{input.due}')).toContain('may be missing')
    expect(problem('{config.due}')).toBeUndefined()
  })

  it('is not judged by an input that says too little', () => {
    expect(problem('{input.other}', { type: 'object' })).toBeUndefined()
    expect(problem('{input.other}', { ...schema, additionalProperties: { type: 'string' } })).toBeUndefined()
  })
})

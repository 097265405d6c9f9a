import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { type DeclarationOptions, operationsIn, readApiDocument, toDeclaration } from './index.ts'

const OPTIONS: DeclarationOptions = {
  capability: 'odd',
  secretNames: new Map(),
  relax: schema => schema,
  fits: () => true,
  isSound: () => true,
}

const AROUND = { openapi: '3.1.0', info: { title: 'Odd' }, servers: [{ url: 'https://odd.example.com' }] }

function documentOf(paths: object, more: object = {}) {
  return readApiDocument(JSON.stringify({ ...AROUND, ...more, paths }))
}

/** The declaration of the only operation, as it is read, and what was said of it. */
function made(operation: object, { method = 'post', options = {}, ...more }: Record<string, unknown> = {}) {
  const document = documentOf({ '/it': { [String(method)]: operation } }, more)
  const [found] = operationsIn(document)
  if (!found) throw new Error('There is none.')
  const { text, notes } = toDeclaration(found, document, { ...OPTIONS, ...(options as object) })
  return { ...(parse(text.split('---\n')[1] ?? '') as { parameters?: object; with: object }), notes }
}

const json = (schema: object, more: object = {}) => ({ content: { 'application/json': { schema } }, ...more })
const upload = (more: object = {}) => ({ content: { 'application/octet-stream': {} }, ...more })

describe('reading a document', () => {
  it('says of an operation that it is deprecated, so that its tool comes last', () => {
    expect(made({ summary: 'Adds it.', deprecated: true })).toMatchObject({ short: 'Deprecated. Adds it.' })
    expect(made({ summary: 'Adds it.' })).toMatchObject({ short: 'Adds it.' })
  })

  it('reads YAML with anchors, up to a size', () => {
    const text = `openapi: 3.1.0\npaths: {}\na: &a { b: 1, c: 1 }\nd: { <<: *a, c: 2 }\nx:\n${'  - *a\n'.repeat(300)}`
    expect(readApiDocument(text).root).toMatchObject({ d: { b: 1, c: 2 } })
    expect(() => readApiDocument(`openapi: 3.1.0\n${'# a\n'.repeat(2_500_000)}`)).toThrow('up to 8 MiB')
  })

  it.each([
    [
      'a path that is there twice',
      'openapi: 3.1.0\npaths:\n  /a: {}\n  /a: {}\n',
      '"/a" is there twice (line 4, column 3)',
    ],
    [
      'anchors that make it large',
      `openapi: 3.1.0\npaths: {}\na0: &a0 [1, 1]\n${Array.from({ length: 40 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}]\n`).join('')}`,
      'alias count',
    ],
    ['two documents', 'openapi: 3.1.0\n---\nopenapi: 3.1.0\n', 'multiple documents'],
    ['a value too deep', `{"openapi":"3.1.0","x":${'['.repeat(9_000)}${']'.repeat(9_000)}}`, 'nested deeper'],
    ['text behind its end', 'openapi: 3.1.0\npaths: {}\n}\n', 'neither JSON nor YAML'],
  ])('says what is wrong with %s', (_, text, says) => {
    expect(() => readApiDocument(text)).toThrow(says)
  })

  it.each(['openapi: 3.1\npaths: {}', 'openapi: 3.0\npaths: {}', '\uFEFF{"openapi":"3.1.0","paths":{}}'])(
    'takes %j',
    text => {
      expect(readApiDocument(text).root.paths).toEqual({})
    },
  )

  it('gives every operation an id and a name of its own', () => {
    const long = `/${'long_'.repeat(20)}`
    const found = operationsIn(
      documentOf({
        [`${long}a`]: { get: {} },
        [`${long}b`]: { get: {} },
        '/x': { get: { operationId: '列表' }, post: { operationId: '建立' } },
        '/y': { get: { operationId: 'same' }, put: { operationId: 'same' } },
      }),
    )
    const tools = found.map(({ tool }) => tool)
    expect(new Set(tools).size).toBe(6)
    expect(tools.every(tool => tool.length <= 64)).toBe(true)
    expect(tools.slice(2)).toEqual(['get_x', 'post_x', 'same', 'same_2'])
    expect(found.map(({ id }) => id).slice(2)).toEqual(['列表', '建立', 'same', 'PUT /y'])
  })
})

describe('making a declaration of an operation', () => {
  it.each([
    ['an upload', { requestBody: upload() }, { method: 'put' }],
    ['a body that a GET needs', { requestBody: json({ type: 'object' }, { required: true }) }, { method: 'get' }],
  ])('refuses %s', (_, operation, more) => {
    expect(() => made(operation, more)).toThrow(/body/)
  })

  it.each([
    ['an upload that need not be', { requestBody: upload({ required: false }) }, { method: 'put' }],
    ['a body that a GET may have', { requestBody: json({ type: 'object' }) }, { method: 'get' }],
  ])('leaves out %s, and says so', (_, operation, more) => {
    const { notes, with: settings } = made(operation, more)
    expect(notes).toEqual([expect.stringMatching(/^Left out: its body/)])
    expect(settings).not.toHaveProperty('body')
  })

  it('asks for nothing that only the server sets', () => {
    const base = { properties: { id: { type: 'string', readOnly: true } } }
    const own = { required: ['id', 'name'], properties: { name: { type: 'string' } } }
    const pet = { type: 'object', allOf: [base, own] }
    const schema = {
      type: 'object',
      required: ['pet', 'at'],
      properties: { pet, at: { type: 'string', readOnly: true } },
    }
    const { parameters } = made({ requestBody: json(schema, { required: true }) })
    expect(Object.keys(parameters ?? {})).toEqual(['pet'])
    expect(JSON.stringify(parameters)).not.toContain('"id"')
    expect(JSON.stringify(parameters)).toContain('"name"')
  })

  it('asks for a body that need not be as a whole, where it needs something inside', () => {
    const schema = { type: 'object', required: ['a'], properties: { a: { type: 'string' }, b: { type: 'string' } } }
    expect(made({ requestBody: json(schema) }).with).toMatchObject({ body: { json: { a: '{a}', b: '{b}' } } })
    expect(made({ requestBody: json(schema, { required: false }) })).toMatchObject({
      parameters: { body: { properties: { a: { required: true } } } },
      with: { body: { json: '{body}' } },
    })
    expect(made({ requestBody: json({ ...schema, required: [] }) }).with).toMatchObject({
      body: { json: { a: '{a}', b: '{b}' } },
    })
  })

  it.each([
    ['null', null],
    ['one of no type', { content: {} }],
  ])('sends no body where it is %s', (_, requestBody) => {
    expect(made({ requestBody })).toMatchObject({ notes: [], with: expect.not.objectContaining({ body: {} }) })
  })

  it('leaves out what a form cannot have, where it need not', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' }, o: { type: 'object' } } }
    const form = (more: object) => ({
      requestBody: { content: { 'application/x-www-form-urlencoded': { schema: { ...schema, ...more } } } },
    })
    const { notes, with: settings } = made(form({}))
    expect(notes).toEqual([expect.stringContaining('Left out: the field "o"')])
    expect(settings).toMatchObject({ body: { form: { a: '{a}' } } })
    expect(() => made(form({ required: ['o'] }))).toThrow('"o"')
  })

  it('fixes what is wrong in a schema and can be done without, and says what it left out', () => {
    const properties = {
      n: { type: 'integer', enum: ['1', '2'], default: '1' },
      s: { type: 'string', enum: [1, true] },
      d: { type: 'integer', default: 'many' },
      p: { type: 'string', pattern: '(' },
      r: { $ref: '#/components/schemas/R', description: 'Here.' },
    }
    const { parameters, notes } = made(
      { requestBody: json({ type: 'object', properties }) },
      {
        components: { schemas: { R: { type: 'string', description: 'There.' } } },
        options: {
          fits: (_: object, value: unknown) => value !== 'many',
          isSound: ({ pattern = '' }) => pattern !== '(',
        },
      },
    )
    expect(parameters).toEqual({
      n: { type: 'integer', enum: [1, 2], default: 1 },
      s: { type: 'string', enum: ['1', 'true'] },
      d: { type: 'integer' },
      p: { type: 'string' },
      r: { type: 'string', description: 'Here.' },
    })
    expect(notes).toEqual([expect.stringContaining('default "many"'), expect.stringContaining('pattern "("')])
  })

  it('signs in where it need not only when it is told to, and says so', () => {
    const components = { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } }
    const operation = { security: [{ key: [] }, {}] }
    const open = made(operation, { method: 'get', components })
    expect(open.notes).toEqual([expect.stringContaining('--secret key=NAME')])
    expect(open.with).not.toHaveProperty('headers')
    const named = made(operation, { method: 'get', components, options: { secretNames: new Map([['key', 'MINE']]) } })
    expect(named.with).toMatchObject({ headers: { 'X-Key': '${secret:MINE}' } })
  })
})

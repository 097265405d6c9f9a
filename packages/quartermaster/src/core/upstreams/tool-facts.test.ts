import { describe, expect, it } from 'vitest'
import { ConsentOperationName, StdioUpstream } from '../../contracts/index.ts'
import { consentOperationsOf, contradictionIn, toolFacts, unknownTools, wantsTool } from './index.ts'

const config = (more: object = {}) => StdioUpstream.parse({ command: 'x', ...more })
const factsOf = (raw: object, more: object = {}, upstream = 'github') =>
  toolFacts({ upstream, name: 'github_drop', raw: { name: 'drop', ...raw }, config: config(more) })

describe('what is known about a tool of a server', () => {
  it('is the careful thing where it says nothing', () => {
    expect(factsOf({})).toEqual({
      name: 'github_drop',
      ownName: 'drop',
      short: 'drop',
      input: { type: 'object' },
      mutates: true,
      idempotent: false,
      consent: [],
    })
  })

  it('is what it says, word for word', () => {
    const inputSchema = { type: 'object', properties: { a: { type: 'string' } } }
    const outputSchema = { type: 'object' }
    const facts = factsOf({ title: 'Drop it', description: ' Drops\n it. ', inputSchema, outputSchema })
    expect(facts).toMatchObject({ title: 'Drop it', short: ' Drops\n it. ', input: inputSchema, output: outputSchema })
  })

  it.each([
    ['only reads', { readOnlyHint: true }, { mutates: false, idempotent: true, consent: [] }],
    ['is the same twice', { idempotentHint: true }, { mutates: true, idempotent: true, consent: [] }],
    ['destroys', { destructiveHint: true }, { mutates: true, idempotent: false, consent: ['github.destructive'] }],
    [
      'contradicts itself',
      { readOnlyHint: true, destructiveHint: true },
      { mutates: true, consent: ['github.destructive'] },
    ],
    ['is not destructive, which is nobody’s consent', { destructiveHint: false }, { mutates: true, consent: [] }],
    [
      'has words for hints',
      { readOnlyHint: 'true', destructiveHint: 1 },
      { mutates: true, idempotent: false, consent: [] },
    ],
  ])('follows its annotations when it %s', (_what, annotations, expected) => {
    expect(factsOf({ annotations })).toMatchObject(expected)
  })

  it.each([
    ['drop', { destructiveHint: true }, { destructive: 'destructive', changing: 'destructive', all: 'destructive' }],
    ['push', {}, { destructive: 'changing', changing: 'changing', all: 'changing' }],
    ['getter', { readOnlyHint: false }, { destructive: 'changing', changing: 'changing', all: 'changing' }],
    ['get_row', {}, { changing: 'changing', all: 'changing' }],
    ['listRows', {}, { changing: 'changing', all: 'changing' }],
    ['push', { destructiveHint: false }, { changing: 'changing', all: 'changing' }],
    ['push', { readOnlyHint: true }, { all: 'reading' }],
  ] as const)(
    'asks for %s with %j by the choice for its server',
    (name, annotations, asked: Record<string, string>) => {
      for (const consent of ['destructive', 'changing', 'all', 'none']) {
        const wanted = asked[consent] === undefined ? [] : [`github.${asked[consent]}`]
        expect([consent, factsOf({ name, annotations }, { consent }).consent]).toEqual([consent, wanted])
        const said = { consent, tools: { [name]: { consent: ['files.write'] } } }
        expect(factsOf({ name, annotations }, said).consent).toEqual(['files.write'])
      }
      expect(factsOf({ name, annotations }, { consent: 'all' }).mutates).toBe(factsOf({ name, annotations }).mutates)
    },
  )

  it('is not whether an operation is repeated, whatever it says of itself', () => {
    const annotations = { readOnlyHint: true, idempotentHint: true, destructiveHint: false, retry: 'replay' }
    expect(factsOf({ annotations, retry: 'replay' })).not.toHaveProperty('retry')
  })

  it('tells of a tool that says it only reads and destroys', () => {
    const annotations = { readOnlyHint: true, destructiveHint: true }
    expect(contradictionIn('github', { name: 'drop', annotations })).toMatchObject({
      severity: 'warning',
      subject: 'tool:drop',
    })
    expect(contradictionIn('github', { name: 'drop', annotations: { readOnlyHint: true } })).toBeUndefined()
  })

  it('is what the configuration says, whatever the server says', () => {
    const options = {
      title: 'Other',
      short: 'Other words.',
      whenToUse: 'Never.',
      section: 'danger',
      examples: [{ query: 'drop x', input: { x: 1 } }],
      mutates: true,
      idempotent: true,
      retry: 'replay',
      consent: ['files.write'],
      timeoutMs: 5,
      maxResultBytes: 2048,
      maxBinaryBytes: 4096,
      asTask: 'always',
    }
    const entry = { timeoutMs: 9, maxResultBytes: 1024, maxBinaryBytes: 1024 }
    const raw = { title: 'T', description: 'D', annotations: { readOnlyHint: true, destructiveHint: true } }
    expect(factsOf(raw, { tools: { drop: options }, ...entry })).toMatchObject(options)
    expect(factsOf(raw, entry)).toMatchObject(entry)
  })

  it('asks for consent to what is destructive until the configuration says otherwise', () => {
    const raw = { annotations: { destructiveHint: true } }
    expect(factsOf(raw, { tools: { drop: { mutates: false } } }).consent).toEqual(['github.destructive'])
    expect(factsOf(raw, { tools: { drop: { consent: [] } } }).consent).toEqual([])
  })

  it.each([
    ['GitHub', 'github.destructive'],
    ['9lives', 'u9lives.destructive'],
    ['_x', 'u_x.destructive'],
  ])('declares the consent operation of %s under a name that fits', (upstream, name) => {
    const facts = factsOf({ annotations: { destructiveHint: true } }, {}, upstream)
    expect(facts.consent).toEqual([name])
    expect(ConsentOperationName.safeParse(name).success).toBe(true)
    expect(consentOperationsOf(upstream, [facts, facts])).toEqual([
      { name, weight: 'high', reason: `The server "${upstream}" says that this can destroy something.` },
    ])
  })

  it('declares what the configuration asks for under the server’s own name, and nothing of others', () => {
    const tools = { drop: { consent: ['github.drop', 'files.write'] } }
    expect(consentOperationsOf('github', [factsOf({}, { tools })])).toMatchObject([
      { name: 'github.drop', weight: 'high' },
    ])
  })

  it('takes the configuration’s word about its consent operations, and for nothing that no tool asks for', () => {
    const tools = { drop: { consent: ['github.drop', 'github.write'] } }
    const said = {
      'github.write': { weight: 'low' as const, scope: '{repo}', grantable: 'any' as const },
      'github.other': { weight: 'low' as const },
      'files.write': { weight: 'low' as const },
    }
    expect(consentOperationsOf('github', [factsOf({}, { tools })], said)).toEqual([
      { name: 'github.drop', weight: 'high', reason: expect.any(String) },
      { name: 'github.write', weight: 'low', reason: expect.any(String), scope: '{repo}', grantable: 'any' },
    ])
  })

  it('has the first picture that can be used, and passes on the rest of what clients may want', () => {
    const icons = [{ src: 'http://insecure.test/a.png' }, 'x', { src: 'https://a.test/a.png', sizes: ['48x48'] }]
    const extras = { annotations: { title: 'Hint' }, _meta: { 'vendor/a': 1 } }
    const facts = factsOf({ ...extras, icons })
    expect(facts.icon).toBe('https://a.test/a.png')
    expect(facts.title).toBe('Hint')
    expect(facts.mcp).toEqual({ ...extras, icons: [icons[0], icons[2]] })
  })

  it('leaves out pictures that are too large to travel with every list', () => {
    const icons = [{ src: `data:image/png;base64,${'A'.repeat(20_000)}` }]
    const facts = factsOf({ icons, _meta: { a: 1 } })
    expect(facts.icon).toBeUndefined()
    expect(facts.mcp).toEqual({ _meta: { a: 1 } })
  })

  it('survives nonsense', () => {
    const raw = {
      title: 7,
      description: [],
      inputSchema: 'x',
      outputSchema: [],
      annotations: 'a',
      icons: {},
      _meta: null,
    }
    expect(factsOf(raw)).toMatchObject({ short: 'drop', input: { type: 'object' }, mutates: true })
  })
})

describe('which tools of a server are wanted', () => {
  it.each([
    [{}, true],
    [{ offer: ['drop'] }, true],
    [{ offer: ['other'] }, false],
    [{ leaveOut: ['drop'] }, false],
    [{ tools: { drop: { offer: false } } }, false],
    [{ offer: ['drop'], tools: { drop: { offer: false } } }, false],
  ])('with %j', (more, expected) => {
    expect(wantsTool(config(more), 'drop')).toBe(expected)
  })

  it('is told where the configuration names a tool that the server does not have', () => {
    const wishes = config({ offer: ['drob'], leaveOut: ['drop'], tools: { zzzz: {} } })
    expect(unknownTools('github', wishes, ['drop'])).toMatchObject([
      {
        subject: 'tool:drob',
        field: 'mcpServers.github.offer',
        message: expect.stringContaining('Did you mean "drop"?'),
      },
      { subject: 'tool:zzzz', severity: 'warning' },
    ])
  })
})

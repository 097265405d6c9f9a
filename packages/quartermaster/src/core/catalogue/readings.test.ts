import { describe, expect, expectTypeOf, it } from 'vitest'
import { createHub, fakeService, simpleCapability, simplePrompt, simpleResource } from '../../testing/hub.ts'
import {
  type AnyPrompt,
  type AnyResource,
  collectDefinitions,
  defineCapability,
  definePrompt,
  defineResource,
} from './index.ts'

/** A hub with one file that brings these. */
function hubWith(prompts: readonly AnyPrompt[], resources: readonly AnyResource[] = []) {
  return createHub({ units: { 'main.ts': { capabilities: [simpleCapability('main', [], { prompts, resources })] } } })
}

async function problemsOf(...given: Parameters<typeof hubWith>) {
  const hub = await hubWith(...given)
  return hub.catalogue.problems().map(({ where, subject, field, message }) => ({ where, subject, field, message }))
}

describe('definePrompt', () => {
  it('types what render gets by the arguments', () => {
    const prompt = definePrompt({
      name: 'code_review',
      short: 'Reviews code.',
      arguments: [
        { name: 'code', required: true, suggest: (value, { arguments: { language } }) => [value, language ?? ''] },
        { name: 'language' },
      ],
      render(args) {
        expectTypeOf(args.code).toEqualTypeOf<string>()
        expectTypeOf(args.language).toEqualTypeOf<string | undefined>()
        return args.code
      },
    })
    expect(prompt.title).toBe('Code review')
    expect(Object.isFrozen(prompt)).toBe(true)
  })
})

describe('defineResource', () => {
  it('types what read gets by the template', () => {
    const resource = defineResource({
      name: 'README.md',
      uriTemplate: 'docs://{book}/{page}',
      suggest: { book: value => [value] },
      read({ params }) {
        expectTypeOf(params).toEqualTypeOf<{ readonly book: string; readonly page: string }>()
        return params.book
      },
    })
    expect(resource.title).toBe('README.md')
  })
})

describe('a generation', () => {
  it('has prompts by name and resources by address, in order of definition', async () => {
    const template = simpleResource('', { name: 'page', uri: undefined as never, uriTemplate: 'docs://{page}' })
    const hub = await hubWith([simplePrompt('b'), simplePrompt('a')], [simpleResource('docs://home'), template])
    const { prompts, resources } = hub.catalogue.current()
    expect([...prompts.keys()]).toEqual(['b', 'a'])
    expect([...resources.keys()]).toEqual(['docs://home', 'docs://{page}'])
    expect(resources.get('docs://{page}')).toMatchObject({ params: ['page'], capability: 'main', unit: 'main.ts' })
    expect(hub.catalogue.problems()).toEqual([])
  })

  it('says in the reload’s report what became of them', async () => {
    const hub = await hubWith([simplePrompt('one'), simplePrompt('two')], [simpleResource('docs://a')])
    const prompts = [simplePrompt('two'), simplePrompt('three')]
    const capability = simpleCapability('main', [], { prompts, resources: [simpleResource('docs://b')] })
    hub.write('main.ts', { capabilities: [capability] })
    expect(await hub.catalogue.reload()).toMatchObject({
      added: ['prompt:three', 'resource:docs://b'],
      changed: ['prompt:two', 'capability:main'],
      removed: ['prompt:one', 'resource:docs://a'],
      rejected: [],
    })
  })

  it('needs what the capability needs as well', async () => {
    const { dependency } = fakeService('mail')
    const capability = simpleCapability('main', [], {
      prompts: [simplePrompt('one', { requires: ['mail'] })],
      resources: [simpleResource('docs://a')],
      requires: ['disk'],
      dependencies: [dependency, fakeService('disk').dependency],
    })
    const hub = await createHub({ units: { 'main.ts': { capabilities: [capability] } } })
    expect(hub.catalogue.current().prompts.get('one')?.requires).toEqual(['disk', 'mail'])
    expect(hub.catalogue.current().resources.get('docs://a')?.requires).toEqual(['disk'])
  })

  it('keeps the earlier of two equal names and of two equal addresses', async () => {
    const hub = await hubWith([simplePrompt('one')], [simpleResource('docs://a')])
    const other = { prompts: [simplePrompt('one')], resources: [simpleResource('docs://a')] }
    hub.write('other.ts', { capabilities: [simpleCapability('other', [], other)] })
    const { rejected } = await hub.catalogue.reload()
    expect(rejected).toMatchObject([
      { where: 'other.ts', subject: 'prompt:one', field: 'name', message: expect.stringContaining('main.ts') },
      { where: 'other.ts', subject: 'resource:docs://a', field: 'uri', message: expect.stringContaining('main.ts') },
    ])
    expect(hub.catalogue.current().prompts.get('one')?.capability).toBe('main')
  })

  it('leaves out what requires something that nothing defines', async () => {
    const requires = ['mial']
    const capability = simpleCapability('main', [], {
      prompts: [simplePrompt('one', { requires }), simplePrompt('two')],
      resources: [simpleResource('docs://a', { requires })],
      dependencies: [fakeService('mail').dependency],
    })
    const hub = await createHub({ units: { 'main.ts': { capabilities: [capability] } } })
    expect(hub.catalogue.problems().map(problem => problem.message)).toEqual([
      'Prompt "one" requires "mial", which nothing defines. Did you mean "mail"?',
      'Resource "docs://a" requires "mial", which nothing defines. Did you mean "mail"?',
    ])
    expect([...hub.catalogue.current().prompts.keys()]).toEqual(['two'])
    expect(hub.catalogue.current().capabilities.get('main')?.resources).toEqual([])
  })
})

describe('a wrong prompt', () => {
  it('is left out, with everything that is wrong with it at once', async () => {
    const wrong = {
      name: 'no spaces',
      short: '',
      requiers: ['mail'],
      arguments: [
        { name: 'a', suggest: 1 },
        { name: 'a', default: 2 },
      ],
      render: 'text',
    }
    const problems = await problemsOf([definePrompt(wrong as never), simplePrompt('good')])
    expect(problems.map(({ field }) => field)).toEqual([
      'requiers',
      'name',
      'short',
      'arguments.0.suggest',
      'arguments.1.default',
      'arguments.1.name',
      'render',
    ])
    expect(problems[0]).toEqual({
      where: 'main.ts',
      subject: 'prompt:no spaces',
      field: 'requiers',
      message: 'prompt "no spaces": requiers is not a field of a prompt. Did you mean "requires"?',
    })
  })

  it.each([[null], [undefined], ['text']])('may be no object at all: %j', async wrong => {
    const hub = await createHub({
      units: {
        'main.ts': {
          capabilities: [defineCapability({ key: 'a', short: 'A.', tools: [], prompts: [wrong as never] })],
        },
      },
    })
    expect(hub.catalogue.problems()).not.toEqual([])
    expect(hub.catalogue.current().prompts.size).toBe(0)
  })
})

describe('a wrong resource', () => {
  it.each([
    ['an address that is not absolute', { uri: '/handbook' }, 'uri'],
    ['an address with a space', { uri: 'docs://a b' }, 'uri'],
    ['an address with gaps', { uri: 'docs://{page}' }, 'uri'],
    ['our own scheme', { uri: 'Quartermaster://tools/x' }, 'uri'],
    ['our own scheme in a template', { uriTemplate: 'quartermaster://{x}' }, 'uriTemplate'],
    ['a template without gaps', { uriTemplate: 'docs://home' }, 'uriTemplate'],
    ['a template of a higher level', { uriTemplate: 'docs://{+path}' }, 'uriTemplate'],
    ['a template with a query', { uriTemplate: 'docs://{page}{?q}' }, 'uriTemplate'],
    ['a template whose scheme is a gap', { uriTemplate: '{scheme}:page' }, 'uriTemplate'],
    ['two gaps side by side', { uriTemplate: 'docs://{a}{b}' }, 'uriTemplate'],
    ['a gap that comes twice', { uriTemplate: 'docs://{a}/{a}' }, 'uriTemplate'],
    ['a gap that is open', { uriTemplate: 'docs://{a}/{b' }, 'uriTemplate'],
    ['no address', {}, 'uri'],
    ['two addresses', { uri: 'docs://a', uriTemplate: 'docs://{a}' }, 'uri'],
    ['a type that is none', { uri: 'docs://a', mimeType: 'markdown' }, 'mimeType'],
    ['help for a gap it does not have', { uriTemplate: 'docs://{a}', suggest: { b: () => [] } }, 'suggest.b'],
    ['help that is no function', { uriTemplate: 'docs://{a}', suggest: { a: [] } }, 'suggest.a'],
    ['nothing to read it with', { uri: 'docs://a', read: undefined }, 'read'],
  ])('has %s', async (_what, part, field) => {
    const resource = defineResource({ name: 'a', read: () => '', ...part } as never)
    expect(await problemsOf([], [resource])).toMatchObject([{ where: 'main.ts', field }])
  })
})

describe('a file', () => {
  it('is told when it exports a prompt or a resource by itself', () => {
    const services = { paths: { projectDir: '/', dataDir: '/' }, secrets: { get: () => undefined } }
    const { problems } = collectDefinitions(
      { one: simplePrompt('one'), page: simpleResource('docs://page') },
      services,
      'main.ts',
    )
    expect(problems.map(problem => problem.message)).toEqual([
      'Prompt "one" is exported by itself, so no agent can be given it.',
      'Resource "page" is exported by itself, so no agent can be given it.',
    ])
  })
})

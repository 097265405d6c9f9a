import { describe, expect, it } from 'vitest'
import { DOWN, fakeService, simpleResource } from '../../../testing/hub.ts'
import { openReadFixture, review } from '../../../testing/read-fixture.ts'
import { definePrompt, defineResource } from '../../catalogue/index.ts'

describe('suggestions', () => {
  const ask = { ref: { prompt: 'review' }, argument: { name: 'file', value: 'ma' } }

  it('are what the definition suggests for what is typed', async () => {
    const { suggest } = await openReadFixture({ prompts: [review] })
    expect(await suggest(ask)).toEqual({ values: ['main.ts'], total: 1, hasMore: false })
    expect(await suggest({ ...ask, argument: { name: 'tone', value: '' } })).toEqual({
      values: [],
      total: 0,
      hasMore: false,
    })
  })

  it('for a template know the other names and the configuration', async () => {
    const page = defineResource({
      name: 'page',
      uriTemplate: 'docs://{book}/{page}',
      suggest: { page: (value, { arguments: { book }, config }) => [`${book}/${value}/${JSON.stringify(config)}`] },
      read: () => '',
    })
    const { suggest } = await openReadFixture({ resources: [page] })
    const answer = await suggest({
      ref: { resource: 'docs://{book}/{page}' },
      argument: { name: 'page', value: 'x' },
      arguments: { book: 'guide' },
    })
    expect(answer.values).toEqual(['guide/x/{"tone":"dry","tools":[]}'])
  })

  it('are a hundred at most', async () => {
    const many = Array.from({ length: 101 }, (_, index) => String(index))
    const prompt = definePrompt({
      name: 'many',
      short: 'Many.',
      arguments: [{ name: 'n', suggest: async () => many }],
      render: () => '',
    })
    const { suggest } = await openReadFixture({ prompts: [prompt] })
    expect(await suggest({ ref: { prompt: 'many' }, argument: { name: 'n', value: '' } })).toEqual({
      values: many.slice(0, 100),
      total: 101,
      hasMore: true,
    })
  })

  it.each([
    ['how many there are of which it gives some', { values: ['a'], total: 500, hasMore: true }, {}],
    ['nothing about the rest', { values: ['a'] }, {}],
    [
      'fewer than it gives',
      { values: Array(101).fill('a'), total: 7 },
      { values: Array(100).fill('a'), hasMore: true },
    ],
  ])('say what the definition says: %s', async (_, given, made) => {
    const [n, render] = [{ name: 'n', suggest: () => given }, () => '']
    const { suggest } = await openReadFixture({
      prompts: [definePrompt({ name: 'some', short: 'Some.', arguments: [n], render })],
    })
    const answer = await suggest({ ref: { prompt: 'some' }, argument: { name: 'n', value: '' } })
    expect(answer).toEqual({ ...given, ...made })
  })

  it('are given to those only who have the prompt, for arguments that it has', async () => {
    const { hub, suggest, stranger } = await openReadFixture({
      prompts: [review],
      resources: [simpleResource('a://b')],
    })
    await expect(hub.readings.suggest({ session: stranger, ...ask })).rejects.toMatchObject({
      code: 'PROMPT_NOT_FOUND',
    })
    await expect(suggest({ ...ask, argument: { name: 'fiel', value: '' } })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: '"prompt:review" has no argument "fiel". Did you mean "file"?',
    })
    await expect(suggest({ ...ask, ref: { resource: 'a://b' } })).rejects.toMatchObject({ code: 'RESOURCE_NOT_FOUND' })
  })

  it('do not wait for what is down', async () => {
    const mail = fakeService('mail', DOWN)
    const suggest = () => ['x']
    const prompt = definePrompt({
      name: 'send',
      short: 'Sends.',
      requires: ['mail'],
      arguments: [{ name: 'to', suggest }],
      render: () => '',
    })
    const hub = await openReadFixture({ prompts: [prompt], services: [mail] })
    const answer = await hub.suggest({ ref: { prompt: 'send' }, argument: { name: 'to', value: '' } })
    expect(answer.values).toEqual([])
  })

  it('that are none are an error, and so is help that throws', async () => {
    const prompt = definePrompt({
      name: 'odd',
      short: 'Odd.',
      arguments: [
        { name: 'a', suggest: () => [1] as never },
        {
          name: 'b',
          suggest: () => {
            throw new Error('no list')
          },
        },
      ],
      render: () => '',
    })
    const { suggest } = await openReadFixture({ prompts: [prompt] })
    const odd = (name: string) => suggest({ ref: { prompt: 'odd' }, argument: { name, value: '' } })
    await expect(odd('a')).rejects.toMatchObject({ code: 'OUTPUT_INVALID' })
    await expect(odd('b')).rejects.toMatchObject({ code: 'READING_FAILED', message: '"prompt:odd" failed: no list' })
  })
})

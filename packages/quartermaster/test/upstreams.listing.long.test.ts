import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { freshFolder } from '../src/testing/store-contract/stage.ts'
import { ILL_SERVER, openFixture, program } from './support/upstream-fixture.ts'

const tool = (name: string, description: string) => ({ name, description, inputSchema: { type: 'object' } })

it('leaves out of a listing what is wrong with it and nothing else, and never offers a held tool in its old form', async () => {
  const file = join(await freshFolder(), 'definitions.json')
  const list = (...tools: object[]) => writeFile(file, JSON.stringify(tools))
  await list(tool('one', 'One.'), tool('one', 'One again.'), { description: 'Nameless.' }, tool('two', 'Two.'))
  const fixture = await openFixture({ mcpServers: { ill: program(ILL_SERVER, `--definitions=${file}`) } })
  const client = await fixture.connect('auto', { listChanged: { tools: { onChanged() {} } } })
  const texts = async () => (await client.listTools()).tools.map(({ name, description }) => `${name}: ${description}`)
  await expect.poll(texts).toEqual(['ill_one: One.', 'ill_two: Two.'])
  await list(tool('one', 'Something else.'), tool('one', 'One again.'), tool('two', 'Two.'))
  await fixture.run('upstreams', 'restart', 'ill')
  await expect.poll(texts).toEqual(['ill_two: Two.'])
})

import type { Client } from '@modelcontextprotocol/client'
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills'
import { describe, expect, it } from 'vitest'
import type { WrittenUnit } from '../../core/catalogue/index.ts'
import { createHub, simpleCapability, simplePrompt, simpleTool } from '../../testing/hub.ts'
import { connect, ERAS, frontOf } from './testing/front.ts'

function directions(command: string, more: { body?: string; [field: string]: unknown } = {}): WrittenUnit {
  const { body = `Do ${command}.`, ...front } = more
  const texts = {
    title: `How to ${command}`,
    summary: `Says how to ${command}.`,
    whenToUse: `Somebody wants to ${command}.`,
  }
  return { path: `guides/${command}`, front: { kind: 'directions', ...texts, command, ...front }, body }
}

const aside: WrittenUnit = { path: 'aside', front: { kind: 'concept', title: 'Aside' }, body: 'Mind the step.' }
const deploy = (body = 'Build it.\n\n{{include: aside}}\n\nShip it.') =>
  directions('deploy', { tools: ['build', 'ship'], body })

async function open(more: readonly WrittenUnit[] = []) {
  const capabilities = [
    simpleCapability('yard', [simpleTool('build'), simpleTool('ship')]),
    simpleCapability('shed', [simpleTool('saw')], { prompts: [simplePrompt('review')] }),
  ]
  const written = (unit = deploy()) => ({
    written: [unit, aside, directions('greet'), directions('review', { tools: ['saw'] }), ...more],
  })
  const hub = await createHub({
    units: { 'all.ts': { capabilities }, 'knowledge.md': written() },
    builtin: {
      'ours.md': {
        written: [
          { ...directions('greet', { body: 'Ours.' }), path: 'ours/greet' },
          { ...directions('fix'), path: 'ours/fix' },
        ],
      },
    },
    agents: {
      builder: { capabilities: { yard: {} } },
      sawyer: { capabilities: { shed: {}, yard: { tools: ['build'] } } },
      lost: { capabilities: { nowhere: {} } },
    },
  })
  const edit = async (unit: WrittenUnit) => {
    hub.write('knowledge.md', written(unit))
    await hub.catalogue.reload()
    await hub.clock.advance(10)
  }
  return { hub, front: frontOf(hub), edit }
}

const promptNames = async (client: Client) => (await client.listPrompts()).prompts.map(({ name }) => name)
const textOf = async (client: Client, name: string) => (await client.getPrompt({ name })).messages

describe.each(ERAS)('directions, for a client of the era %s', era => {
  it('are prompts, called by their word, with what they include', async () => {
    const { front } = await open()
    const client = await connect(front, 'builder', era)
    const { prompts } = await client.listPrompts()
    expect(prompts).toContainEqual({
      name: 'deploy',
      title: 'How to deploy',
      description: 'Says how to deploy.',
      arguments: [],
    })
    expect(await textOf(client, 'deploy')).toEqual([
      { role: 'user', content: { type: 'text', text: 'Build it.\n\nMind the step.\n\nShip it.' } },
    ])
  })

  it('are offered to those who have all tools they name, and do not exist for others', async () => {
    const { front } = await open()
    expect(await promptNames(await connect(front, 'builder', era))).toEqual(['deploy', 'greet', 'fix'])
    const sawyer = await connect(front, 'sawyer', era)
    expect(await promptNames(sawyer)).toEqual(['review', 'greet', 'fix'])
    await expect(sawyer.getPrompt({ name: 'deploy' })).rejects.toThrow('no prompt "deploy"')
    const skills = new SkillsClient(sawyer)
    expect((await skills.list()).skills.map(({ uri }) => uri)).not.toContain('skill://deploy/SKILL.md')
    await expect(skills.get('skill://deploy/SKILL.md')).rejects.toThrow('no skill')
    await expect(sawyer.readResource({ uri: 'skill://deploy/SKILL.md' })).rejects.toThrow()
  })

  it('are not offered to an agent whose file is wrong', async () => {
    const { front } = await open()
    const client = await connect(front, 'lost', era)
    expect(await promptNames(client)).toEqual([])
    expect((await new SkillsClient(client).list()).skills).toEqual([])
  })

  it('leave a word to the prompt of a capability, and ours leave theirs to the project’s', async () => {
    const { front } = await open()
    const client = await connect(front, 'sawyer', era)
    expect(await textOf(client, 'review')).toMatchObject([{ content: { text: 'review' } }])
    expect(await textOf(client, 'greet')).toMatchObject([{ content: { text: 'Do greet.' } }])
  })

  it('are skills, which the SDK’s client reads and holds against their digests', async () => {
    const { front } = await open()
    const skills = new SkillsClient(await connect(front, 'builder', era))
    const listing = await skills.list()
    expect(listing.skills.map(({ frontmatter }) => frontmatter.name)).toEqual(['deploy', 'greet', 'fix'])
    const { skill } = await skills.get('skill://deploy/SKILL.md')
    expect(skill).toMatchObject({
      frontmatter: { name: 'deploy', description: 'Says how to deploy. Somebody wants to deploy.' },
    })
    expect(await skills.read(skill)).toMatchObject({
      verified: true,
      body: expect.stringContaining('Mind the step.'),
    })
  })

  it('are resources too, with the description of the skill', async () => {
    const { front } = await open()
    const { resources } = await (await connect(front, 'builder', era)).listResources()
    expect(resources.find(({ uri }) => uri.startsWith('skill:'))).toMatchObject({
      uri: 'skill://deploy/SKILL.md',
      name: 'deploy',
      title: 'How to deploy',
      description: 'Says how to deploy. Somebody wants to deploy.',
      mimeType: 'text/markdown',
    })
  })

  it('take in nothing that is not for whoever reads them, and say of it what they say of nothing', async () => {
    const body = 'First:\n\n{{include: guides/deploy}}\n\n{{include: guides/nowhere}}'
    const { front } = await open([directions('tidy', { body })])
    const nothing = (path: string) => `[Not included: there is nothing for you to read at "${path}".]`
    const sawyer = await connect(front, 'sawyer', era)
    const cut = `First:\n\n${nothing('guides/deploy')}\n\n${nothing('guides/nowhere')}`
    expect(await textOf(sawyer, 'tidy')).toMatchObject([{ content: { text: cut } }])
    const skills = new SkillsClient(sawyer)
    const { skill } = await skills.get('skill://tidy/SKILL.md')
    expect(await skills.read(skill)).toMatchObject({ verified: true, body: expect.stringContaining(cut) })
    const builder = await connect(front, 'builder', era)
    const whole = `First:\n\nBuild it.\n\nMind the step.\n\nShip it.\n\n${nothing('guides/nowhere')}`
    expect(await textOf(builder, 'tidy')).toMatchObject([{ content: { text: whole } }])
  })

  it('are told of when they are edited, to those who have them and to nobody else', async () => {
    // What sawyer has of these does not have the text that is edited.
    const { front, edit } = await open([directions('tidy', { body: '{{include: guides/deploy}}' })])
    const news = { builder: [] as string[], sawyer: [] as string[] }
    const listen = (agent: keyof typeof news) => {
      const heard = (what: string) => ({ onChanged: () => void news[agent].push(what) })
      return connect(front, agent, era, { listChanged: { prompts: heard('prompts'), resources: heard('resources') } })
    }
    const client = await listen('builder')
    await listen('sawyer')
    const skills = new SkillsClient(client)
    const { skill: before } = await skills.get('skill://deploy/SKILL.md')
    await edit(deploy('Ship it at once.'))
    await expect.poll(() => [...news.builder].sort()).toEqual(['prompts', 'resources'])
    expect(news.sawyer).toEqual([])
    expect(await textOf(client, 'deploy')).toMatchObject([{ content: { text: 'Ship it at once.' } }])
    expect((await skills.get('skill://deploy/SKILL.md')).skill).not.toEqual(before)
  })
})

it('quotes a description as YAML, and leaves out of it what does not fit', async () => {
  const { front, edit } = await open()
  const summary = 'It says: "no" # never\n- and \\ more.'
  await edit(directions('deploy', { summary, whenToUse: 'x'.repeat(2_000) }))
  const skills = new SkillsClient(await connect(front, 'builder', 'auto'))
  const { skill } = await skills.get('skill://deploy/SKILL.md')
  expect(skill.frontmatter.description).toBe(summary)
  expect(await skills.read(skill)).toMatchObject({ verified: true })
})

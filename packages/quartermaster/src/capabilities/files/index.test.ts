import { describe, expect, it } from 'vitest'
import { type Capability, collectDefinitions, type DescribedSchema } from '../../core/catalogue/index.ts'
import filesModule from './index.ts'

const paths = { projectDir: '/project', dataDir: '/project/.quartermaster' }
const secrets = { get: () => undefined }

function filesCapability(): Capability {
  const { capabilities, problems } = collectDefinitions({ default: filesModule }, { paths, secrets }, 'files')
  expect(problems).toEqual([])
  return capabilities[0] as Capability
}

const context = { agentDir: '/', workspaceDir: '/', agent: { name: 'a', capabilities: {} } }

describe('the files capability', () => {
  it('asks for consent to whatever changes something, and to nothing else', () => {
    const { key, tools, consentOperations } = filesCapability()
    expect(key).toBe('files')
    const asks = tools.map(({ name, consent = [] }) => [name, consent])
    expect(asks).toEqual(tools.map(({ name, mutates }) => [name, mutates ? ['files.write'] : []]))
    expect(tools.some(({ mutates }) => mutates)).toBe(true)
    expect(consentOperations).toMatchObject([{ name: 'files.write', weight: 'moderate' }])
  })

  it('counts relative folders from the project folder, once each', () => {
    const config = {
      dirs: ['./reports', 'reports/', '/data', '../shared'],
      maxFileBytes: 5,
      editProject: false,
      tools: [],
    }
    expect(filesCapability().resolve(context, config)).toEqual({
      config: {
        roots: [
          { label: './reports', path: '/project/reports' },
          { label: '/data', path: '/data' },
          { label: '../shared', path: '/shared' },
        ],
        maxFileBytes: 5,
        editProject: false,
      },
    })
  })

  it.each([
    [{ dirs: ['.'] }, true],
    [{ dirs: ['.'], maxFileBytes: 1 }, true],
    [{}, false],
    [{ dirs: [] }, false],
    [{ dirs: [''] }, false],
    [{ dirs: ['~/notes'] }, false],
    [{ dirs: ['a\0b'] }, false],
    [{ dirs: Array.from({ length: 51 }, (_, index) => `d${index}`) }, false],
    [{ dirs: ['.'], maxFileBytes: 0 }, false],
    [{ dirs: ['.'], editProject: true }, true],
    [{ dirs: ['.'], editProject: 'yes' }, false],
    [{ dirs: ['.'], other: true }, false],
  ])('accepts the configuration %j: %s', async (config, accepted) => {
    const checked = await (filesCapability().config as DescribedSchema)['~standard'].validate(config)
    expect(checked.issues === undefined).toBe(accepted)
  })

  it('explains every tool, every field and an example that its own schema accepts', async () => {
    for (const tool of filesCapability().tools) {
      const schema = tool.input as DescribedSchema
      const { properties } = schema['~standard'].jsonSchema.input({ target: 'draft-2020-12' }) as {
        properties: Record<string, { description?: string }>
      }
      for (const property of Object.values(properties)) expect(property.description).toBeTruthy()
      for (const { input } of tool.examples ?? []) {
        expect((await schema['~standard'].validate(input)).issues).toBeUndefined()
      }
      expect(tool).toMatchObject({ section: 'files', command: { name: tool.name.replace('_', '-') } })
      expect(tool.whenToUse).toContain('It ')
    }
  })
})

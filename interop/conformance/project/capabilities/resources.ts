import { defineCapability, defineResource } from 'quartermaster'
import resources from '../parts/resources.json' with { type: 'json' }

const fixed = resources.map(({ text, blob, ...resource }) =>
  defineResource({ ...resource, read: () => text ?? Buffer.from(blob ?? '', 'base64') }),
)

const template = defineResource({
  uriTemplate: 'test://template/{id}/data',
  name: 'template-data',
  short: 'Data by its id.',
  mimeType: 'application/json',
  read: ({ params: { id } }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
})

export default defineCapability({
  key: 'resources',
  short: 'Resources of every kind.',
  tools: [],
  resources: [...fixed, template],
})

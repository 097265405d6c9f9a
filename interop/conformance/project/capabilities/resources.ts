import { defineCapability, defineResource } from 'quartermaster'
import { PIXEL } from '../parts/media.ts'

const text = defineResource({
  uri: 'test://static-text',
  name: 'static-text',
  short: 'A text that never changes.',
  mimeType: 'text/plain',
  read: () => 'This is the content of the static text resource.',
})

const binary = defineResource({
  uri: 'test://static-binary',
  name: 'static-binary',
  short: 'An image that never changes.',
  mimeType: 'image/png',
  read: () => Buffer.from(PIXEL, 'base64'),
})

const template = defineResource({
  uriTemplate: 'test://template/{id}/data',
  name: 'template-data',
  short: 'Data by its id.',
  mimeType: 'application/json',
  read: ({ params: { id } }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
})

const watched = defineResource({
  uri: 'test://watched-resource',
  name: 'watched-resource',
  short: 'A text that can be subscribed to.',
  mimeType: 'text/plain',
  read: () => 'This is watched.',
})

export default defineCapability({
  key: 'resources',
  short: 'Resources of every kind.',
  tools: [],
  resources: [text, binary, template, watched],
})

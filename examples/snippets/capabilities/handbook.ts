import { AppError, defineCapability, definePrompt, defineResource } from 'quartermaster'

const pages = new Map([
  ['welcome', '# Welcome\n\nEverybody starts here.\n'],
  ['release', '# Release\n\n1. Tag it.\n2. Tell everybody.\n'],
])

const startingWith = (value: string) => [...pages.keys()].filter(name => name.startsWith(value))

function textOf(page: string): string {
  const text = pages.get(page)
  if (text === undefined) throw new AppError('RESOURCE_NOT_FOUND', `The handbook has no page "${page}".`)
  return text
}

const contents = defineResource({
  name: 'contents',
  short: 'The pages of the handbook.',
  mimeType: 'text/markdown',
  uri: 'handbook://contents',
  read: () => [...pages.keys()].map(page => `- [${page}](handbook://${page})\n`).join(''),
})

const page = defineResource({
  name: 'page',
  short: 'One page of the handbook.',
  mimeType: 'text/markdown',
  uriTemplate: 'handbook://{page}',
  suggest: { page: startingWith },
  read: ({ params }) => textOf(params.page),
})

const explain = definePrompt({
  name: 'explain',
  short: 'Explains a page of the handbook.',
  arguments: [
    { name: 'page', short: 'Which page.', required: true, suggest: startingWith },
    { name: 'reader', short: 'For whom. A newcomer when left out.' },
  ],
  render: ({ page: name, reader = 'a newcomer' }) => [
    {
      role: 'user',
      content: {
        type: 'resource',
        resource: { uri: `handbook://${name}`, mimeType: 'text/markdown', text: textOf(name) },
      },
    },
    { role: 'user', content: { type: 'text', text: `Explain this page to ${reader}.` } },
  ],
})

export default defineCapability({
  key: 'handbook',
  short: 'The handbook.',
  tools: [],
  prompts: [explain],
  resources: [contents, page],
})

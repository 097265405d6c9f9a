import { defineCapability, definePrompt } from 'quartermaster'
import { PIXEL } from '../parts/content.ts'
import { oneText } from '../parts/schemas.ts'

const simple = definePrompt({
  name: 'test_simple_prompt',
  short: 'A prompt without gaps.',
  render: () => 'This is a simple prompt for testing.',
})

const CITIES = ['paris', 'park', 'party']

const withArguments = definePrompt({
  name: 'test_prompt_with_arguments',
  short: 'A prompt with two gaps.',
  arguments: [
    {
      name: 'arg1',
      short: 'First test argument',
      required: true,
      suggest: value => CITIES.filter(city => city.startsWith(value)),
    },
    { name: 'arg2', short: 'Second test argument', required: true },
  ],
  render: ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
})

const withResource = definePrompt({
  name: 'test_prompt_with_embedded_resource',
  short: 'A prompt that holds a resource.',
  arguments: [{ name: 'resourceUri', short: 'URI of the resource to embed', required: true }],
  render({ resourceUri }) {
    const text = 'Embedded resource content for testing.'
    const resource = { uri: resourceUri, mimeType: 'text/plain', text }
    return [
      { role: 'user', content: { type: 'resource', resource } },
      { role: 'user', content: { type: 'text', text: 'Please process the embedded resource above.' } },
    ]
  },
})

const withImage = definePrompt({
  name: 'test_prompt_with_image',
  short: 'A prompt that holds an image.',
  render: () => [
    { role: 'user', content: { type: 'image', data: PIXEL, mimeType: 'image/png' } },
    { role: 'user', content: { type: 'text', text: 'Please analyze the image above.' } },
  ],
})

const asking = definePrompt({
  name: 'test_input_required_result_prompt',
  short: 'A prompt that asks the person first.',
  async render(_arguments, { ask }) {
    const message = 'What context should the prompt use?'
    const { content } = await ask({ key: 'user_context', message, schema: oneText('context') })
    return `Work in this context: ${String(content?.context)}`
  },
})

export default defineCapability({
  key: 'prompts',
  short: 'Prompts of every kind.',
  tools: [],
  prompts: [simple, withArguments, withResource, withImage, asking],
})

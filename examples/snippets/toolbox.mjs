// @ts-check
import { createQuartermaster, defineCapability, defineTool } from 'quartermaster'
import { answerFunctionCalls, functionTools } from 'quartermaster/openai'

const add = defineTool({
  name: 'add',
  short: 'Adds two numbers.',
  input: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  mutates: false,
  handler: ({ a, b }) => `${a + b}`,
})
const maths = defineCapability({ key: 'maths', short: 'Maths.', tools: [add] })

const quartermaster = await createQuartermaster({ capabilities: [maths] })
try {
  // Behind a running `up` this is `await openToolbox({ url, token })`. All else is the same.
  const toolbox = quartermaster.toolbox('default')
  console.log(await functionTools(toolbox))

  // What a model has answered, as it stands in `response.output`.
  const call = { type: 'function_call', call_id: 'call_1', name: 'add', arguments: '{ "a": 2, "b": 3 }' }
  console.log(await answerFunctionCalls(toolbox, [call]))
} finally {
  await quartermaster.stop()
}

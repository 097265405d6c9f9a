import {
  type CallContext,
  defineCapability,
  defineDependency,
  definePrompt,
  defineTool,
  toolFailure,
} from 'quartermaster'
import { NOTHING } from '../parts/schemas.ts'

/** More than the suite flips in one run. */
const SWITCHES = ['1', '2', '3', '4', '5', '6'] as const

/** Something that is off until somebody switches it on: looking again finds what has come, not what has gone. */
function makeSwitch(name: string) {
  let isOn = false
  return {
    name,
    switchOn: () => void (isOn = true),
    dependency: defineDependency({ name, probe: () => (isOn ? true : { up: false, reason: 'It is switched off.' }) }),
  }
}

const toolSwitches = SWITCHES.map(number => makeSwitch(`tool-switch-${number}`))
const promptSwitches = SWITCHES.map(number => makeSwitch(`prompt-switch-${number}`))

const changingTools = toolSwitches.map(({ name }, index) =>
  defineTool({
    name: `test_changing_tool_${index + 1}`,
    short: 'Is there once its switch is on.',
    input: NOTHING,
    mutates: false,
    requires: [name],
    handler: () => 'The switch is on.',
  }),
)

const changingPrompts = promptSwitches.map(({ name }, index) =>
  definePrompt({
    name: `test_changing_prompt_${index + 1}`,
    short: 'Is there once its switch is on.',
    requires: [name],
    render: () => 'The switch is on.',
  }),
)

const triggerToolChange = defineTool({
  name: 'test_trigger_tool_change',
  short: 'Makes one more tool appear.',
  input: NOTHING,
  handler: (_input, context) => switchNext(toolSwitches, context),
})

const triggerPromptChange = defineTool({
  name: 'test_trigger_prompt_change',
  short: 'Makes one more prompt appear.',
  input: NOTHING,
  handler: (_input, context) => switchNext(promptSwitches, context),
})

async function switchNext(switches: ReturnType<typeof makeSwitch>[], { call }: CallContext) {
  const next = switches.shift()
  if (!next) return toolFailure('All switches are on.')
  next.switchOn()
  return call('registry_recheck', { name: `dependency:${next.name}`, force: true })
}

export default defineCapability({
  key: 'changes',
  short: 'Tools and prompts that appear when they are told to.',
  dependencies: [...toolSwitches, ...promptSwitches].map(({ dependency }) => dependency),
  tools: [...changingTools, triggerToolChange, triggerPromptChange],
  prompts: changingPrompts,
})

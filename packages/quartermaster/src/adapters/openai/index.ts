export { agentTools } from './agent-tools.ts'
export { answerFunctionCalls, type FunctionCall, type FunctionCallOutput } from './function-calls.ts'
export { chatTools, type FunctionTool, functionTools } from './function-tools.ts'

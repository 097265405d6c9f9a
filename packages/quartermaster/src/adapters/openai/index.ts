export { type AgentTool, agentTools } from './agent-tools.ts'
export {
  answerFunctionCalls,
  answerToolCalls,
  type FunctionCall,
  type FunctionCallOutput,
  type ToolCall,
  type ToolCallMessage,
} from './function-calls.ts'
export { type ChatTool, chatTools, type FunctionTool, functionTools } from './function-tools.ts'
